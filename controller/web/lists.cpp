#include "controller/web/lists.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "common/json/value.hpp"
#include "common/kube/label_selector.hpp"
#include "common/nearest.hpp"
#include "common/parse.hpp"
#include "controller/state/node_labels.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/each_workload.hpp"
#include "controller/web/series.hpp"

namespace wattle::controller {
namespace {

struct Window {
  std::string sort, filter;
  bool descending = false;
  std::size_t offset = 0, limit = std::numeric_limits<std::size_t>::max();
};

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Result<std::size_t> count_of(const Arguments& given, const char* name, std::size_t least, std::size_t most,
                             std::size_t otherwise) {
  const auto found = given.find(name);
  if (found == given.end()) return otherwise;
  const auto value = parse::u64(found->second);
  if (value && *value >= least && *value <= most) return static_cast<std::size_t>(*value);
  return fail(Errc::malformed, std::string("argument ") + name, "invalid value '" + found->second + "'",
              "use a number from " + std::to_string(least) + " to " + std::to_string(most));
}

// The first of `sorts` is the default. Names sort in ascending order, numbers in descending order.
Result<Window> window_of(const Arguments& given, std::span<const std::string_view> sorts) {
  Window window;
  window.sort = argument(given, "sort", std::string(sorts[0]));
  if (std::find(sorts.begin(), sorts.end(), window.sort) == sorts.end()) {
    std::string all;
    for (const std::string_view each : sorts) all.append(all.empty() ? "" : ", ").append(each);
    return fail(Errc::malformed, "argument sort", "unknown value '" + window.sort + "'", "use one of " + all);
  }
  window.descending = window.sort != "name";
  const std::string order = argument(given, "order", window.descending ? "desc" : "asc");
  if (order != "asc" && order != "desc")
    return fail(Errc::malformed, "argument order", "invalid value '" + order + "'", "use asc or desc");
  window.descending = order == "desc";
  window.filter = lower_case(argument(given, "filter"));
  WATTLE_TRY(window.offset, count_of(given, "offset", 0, 10'000'000, 0));
  WATTLE_TRY(window.limit, count_of(given, "limit", 1, 1000, window.limit));
  return window;
}

// Sort key: a number (no value sorts last) or a text, in either direction; equal keys ascend by `tie`.
struct Key {
  std::optional<double> number;
  std::string text, tie;
};

struct Before {
  bool descending = false;
  bool operator()(const Key& a, const Key& b) const {
    if (a.number.has_value() != b.number.has_value()) return a.number.has_value();
    if (a.number && *a.number != *b.number) return descending ? *a.number > *b.number : *a.number < *b.number;
    if (a.text != b.text) return descending ? a.text > b.text : a.text < b.text;
    return a.tie < b.tie;
  }
};

// Keeps the first offset + limit of the items passed to see().
template <class Item>
class First {
 public:
  explicit First(Window window) : window_(std::move(window)), kept_(Before{window_.descending}) {}
  void see(Key key, Item item) {
    ++matched_;
    const std::size_t most = window_.limit > std::numeric_limits<std::size_t>::max() - window_.offset
                                 ? window_.limit
                                 : window_.offset + window_.limit;
    if (kept_.size() >= most && !kept_.key_comp()(key, std::prev(kept_.end())->first)) return;
    kept_.emplace(std::move(key), item);
    if (kept_.size() > most) kept_.erase(std::prev(kept_.end()));
  }
  std::size_t matched() const { return matched_; }
  std::vector<Item> shown() const {
    std::vector<Item> out;
    std::size_t at = 0;
    for (const auto& [key, item] : kept_)
      if (at++ >= window_.offset) out.push_back(item);
    return out;
  }

 private:
  const Window window_;
  std::size_t matched_ = 0;
  std::map<Key, Item, Before> kept_;
};

// Lists what `first` kept. Serialises item by item, because thousands at once would delay asks.
template <class Item, class Json>
Document listed(const char* name, const std::shared_ptr<const First<Item>>& first, std::size_t total, Json json_of) {
  const auto items = std::make_shared<const std::vector<Item>>(first->shown());
  const auto text = std::make_shared<std::string>(std::string("{\"") + name + "\":[");
  Steps steps = each_of(*items, [items, text, json_of](const Item& item) {
    text->append(text->back() == '[' ? "" : ",").append(json_of(item).dump());
  });
  return then(std::move(steps), [text, first, total] {
    return ready(Result<std::string>(*text + "],\"matched\":" + std::to_string(first->matched()) +
                                     ",\"total\":" + std::to_string(total) + "}"));
  });
}

Document failed(const Error& error) { return ready(Result<std::string>(tl::unexpected<Error>(error))); }

bool matches(const std::string& filter, std::initializer_list<std::string_view> texts) {
  if (filter.empty()) return true;
  return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) {
    return lower_case(std::string(text)).find(filter) != std::string::npos;
  });
}

constexpr std::array<std::string_view, 8> kNodeSorts{"name",       "power_w",        "use_ratio", "pressure_ratio",
                                                     "latency_ms", "cpu_used_cores", "pods",      "energy_j"};
constexpr std::array<std::string_view, 6> kNodeStates{"all", "silent", "asleep", "masked", "measured", "estimated"};
constexpr std::array<std::string_view, 6> kPodSorts{"cpu_cores", "name",         "power_w",
                                                    "energy_j",  "memory_bytes", "age_s"};

Key node_key(const std::string& sort, const std::string& name, const Node& node, const NodeGlance& now) {
  if (sort == "power_w") return {now.power_w, {}, name};
  if (sort == "use_ratio") return {now.use_ratio, {}, name};
  if (sort == "pressure_ratio") return {now.pressure_ratio, {}, name};
  if (sort == "latency_ms") return {now.latency_ms, {}, name};
  if (sort == "cpu_used_cores") return {node.values.cpu_used_cores, {}, name};
  if (sort == "pods") return {static_cast<double>(node.pods.size()), {}, name};
  if (sort == "energy_j") return {node.energy_j, {}, name};
  return {std::nullopt, name, {}};
}

bool selected(const kube::LabelSelector& selector, const Node& node) {
  return selector.empty() || selector.matches(labels_of(node));
}

bool in_state(const std::string& state, const NodeGlance& now) {
  if (state == "silent") return now.silent;
  if (state == "asleep") return now.asleep;
  if (state == "masked") return now.masked || now.full;
  if (state == "measured") return now.power_w && !now.estimated;
  if (state == "estimated") return now.power_w && now.estimated;
  return true;
}

struct PodRow {
  const std::string* node;
  const std::string* uid;
  const Workload* workload;
};

// Pods with equal keys sort by UID.
Key pod_key(const std::string& sort, const PodRow& row, const Pod* pod, MonoTime now) {
  const std::string tie = *row.uid + '\0' + *row.node;
  const Workload& workload = *row.workload;
  if (sort == "name")
    return {std::nullopt, pod == nullptr ? *row.uid : pod->spec.pod_namespace + "/" + pod->spec.name, tie};
  if (sort == "power_w") return {workload.power_w, {}, tie};
  if (sort == "energy_j") return {workload.energy_j, {}, tie};
  if (sort == "memory_bytes" && workload.values.memory_bytes)
    return {static_cast<double>(*workload.values.memory_bytes), {}, tie};
  if (sort == "memory_bytes") return {std::nullopt, {}, tie};
  if (sort == "age_s") return {seconds(now - workload.first_seen), {}, tie};
  return {workload.cpu_cores, {}, tie};
}

}  // namespace

Result<const Node*> named_node(const Parts& from, const std::string& name) {
  if (const Node* node = from.state.node(name)) return node;
  std::vector<std::string> names;
  for (const auto& [known, node] : from.state.nodes()) {
    if (names.size() == kMostNames) break;
    names.push_back(known);
  }
  return fail(Errc::not_found, "node " + name, "no agent has registered under that name",
              did_you_mean(name, names, "list nodes with `wattle nodes`"));
}

Document nodes_text(const Parts& from, const Arguments& arguments) {
  const auto window = window_of(arguments, kNodeSorts);
  if (!window) return failed(window.error());
  const std::string state = argument(arguments, "state", "all");
  if (std::find(kNodeStates.begin(), kNodeStates.end(), state) == kNodeStates.end())
    return failed({Errc::malformed, "argument state", "invalid value '" + state + "'",
                   "use one of all, silent, asleep, masked, measured, estimated"});
  const auto selector = kube::LabelSelector::parse(argument(arguments, "selector"), "argument selector");
  if (!selector) return failed(selector.error());
  using Row = std::pair<const std::string*, const Node*>;
  const auto first = std::make_shared<First<Row>>(*window);
  Steps steps =
      each_of(from.state.nodes(), [&from, first, state, window = *window, selector = *selector](const auto& item) {
        const auto& [name, node] = item;
        if (!matches(window.filter, {name})) return;
        if (!selected(selector, node)) return;
        const NodeGlance now = glance(from, name, node);
        if (in_state(state, now)) first->see(node_key(window.sort, name, node, now), {&name, &node});
      });
  return then(std::move(steps), [&from, first] {
    return listed<Row>("nodes", first, from.state.nodes().size(),
                       [&from](const Row& row) { return node_json(from, *row.first, *row.second); });
  });
}

Document pods_text(const Parts& from, const Arguments& arguments) {
  const auto window = window_of(arguments, kPodSorts);
  if (!window) return failed(window.error());
  const std::string only = argument(arguments, "node");
  if (arguments.contains("node"))
    if (const auto node = named_node(from, only); !node) return failed(node.error());
  const auto first = std::make_shared<First<PodRow>>(*window);
  const auto total = std::make_shared<std::size_t>(0);
  const MonoTime now = from.clock.mono();
  const auto see = [&from, first, total, only, now, window = *window](
                       const std::string& name, const Node&, const std::string& uid, const Workload& workload) {
    if (workload.values.kind != WorkloadKind::pod || (!only.empty() && name != only)) return;
    ++*total;
    const Pod* pod = from.state.pod(uid);
    const std::string label = pod == nullptr ? uid : pod->spec.pod_namespace + "/" + pod->spec.name;
    if (!matches(window.filter, {label, uid, name})) return;
    const PodRow row{&name, &uid, &workload};
    first->see(pod_key(window.sort, row, pod, now), row);
  };
  return then(each_workload(from.state.nodes(), see), [&from, first, total] {
    return listed<PodRow>("pods", first, *total, [&from](const PodRow& row) {
      return workload_json(from, *row.node, *row.uid, *row.workload);
    });
  });
}

namespace {

bool is_called(const Pod& pod, const std::string& name) {
  return !pod.spec.name.empty() && (pod.spec.name == name || pod.spec.pod_namespace + "/" + pod.spec.name == name);
}

}  // namespace

Result<std::string> pod_text(const Parts& from, const Arguments& arguments) {
  WATTLE_TRY(const std::string called, required(arguments, "pod", "pass the UID, the name or NAMESPACE/NAME"));
  std::string uid = called;
  if (from.state.pod(uid) == nullptr) {
    std::size_t so_called = 0;
    for (const auto& [each, pod] : from.state.pods().all()) {
      if (pod.node.empty() || !is_called(pod, called)) continue;
      uid = each;
      ++so_called;
    }
    if (so_called > 1)
      return fail(Errc::malformed, "pod " + called, std::to_string(so_called) + " pods have that name",
                  "use NAMESPACE/NAME or the UID");
  }
  for (const auto& [name, node] : from.state.nodes()) {
    const auto workload = node.workloads.find(uid);
    if (workload == node.workloads.end() || workload->second.values.kind != WorkloadKind::pod) continue;
    return R"({"pod":)" + pod_details_json(from, name, uid, workload->second).dump() + "}";
  }
  return fail(Errc::not_found, "pod " + called, "no agent reports it now", "list pods with `wattle pods`");
}

}  // namespace wattle::controller
