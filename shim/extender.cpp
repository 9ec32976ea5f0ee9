#include "shim/extender.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/json/value.hpp"
#include "common/kube/pod.hpp"
#include "common/kube/preferences.hpp"
#include "common/kube/scheduling_hold.hpp"

namespace wattle::shim {
namespace {

using json = SortedJson;

// Reads the fields of an Ask from a v1.Pod and returns the name of the pod's scheduler. Unreadable values keep their
// default and are listed in Ask::problems.
std::string read_pod(const json& object, wire::Ask& into) {
  kube::Pod pod = kube::read_pod(object);
  into.pod_uid = std::move(pod.uid);
  into.pod_name = std::move(pod.name);
  into.pod_namespace = std::move(pod.pod_namespace);
  into.node_name = std::move(pod.node_name);
  into.app = std::move(pod.app);
  into.owner = std::move(pod.replica_of);
  into.prefers = kube::soft_preferences(object);
  into.tolerates = kube::soft_tolerations(object);
  into.cpu_request_cores = pod.cpu_request_cores;
  into.memory_request_bytes = pod.memory_request_bytes;
  into.daemonset = pod.daemonset;
  into.latency_soft_ms = pod.latency_soft_ms;
  into.latency_hard_ms = pod.latency_hard_ms;
  into.hold_ms = std::chrono::duration<double, std::milli>(kube::scheduling_hold(object)).count();
  into.latency_target = std::move(pod.latency_target);
  into.problems.insert(into.problems.end(), pod.problems.begin(), pod.problems.end());
  return std::move(pod.scheduler);
}

// Reads the names of a v1.NodeList.
Status read_nodes(const json& nodes, std::vector<std::string>& names) {
  const auto items = nodes.is_object() ? nodes.find("items") : nodes.end();
  if (!nodes.is_object() || items == nodes.end() || !(items->is_array() || items->is_null()))
    return fail(Errc::malformed, "Nodes", "is not a list of nodes", "send {\"items\":[...]}, or NodeNames");
  std::size_t index = 0;
  for (const json& node : *items) {
    const json* name = nullptr;
    if (node.is_object() && node.contains("metadata") && node["metadata"].is_object() &&
        node["metadata"].contains("name"))
      name = &node["metadata"]["name"];
    if (name == nullptr || !name->is_string())
      return fail(Errc::malformed, "Nodes.items[" + std::to_string(index) + "].metadata.name", "is not a string");
    names.push_back(name->get<std::string>());
    ++index;
  }
  return {};
}

Status read_node_names(const json& list, std::vector<std::string>& names) {
  if (!list.is_array())
    return fail(Errc::malformed, "NodeNames", "is not a list of strings", "for example [\"node-1\"]");
  names.reserve(list.size());
  for (const json& name : list) {
    if (!name.is_string())
      return fail(Errc::malformed, "NodeNames[" + std::to_string(names.size()) + "]", "is not a string",
                  "for example \"node-1\"");
    names.push_back(name.get<std::string>());
  }
  return {};
}

constexpr std::size_t kLargeBytes = 1 << 20;  // longer than the names of any cluster
// A pod is about 15 levels deep and needs about 100 KB; 5,000 names need 500 KB.
constexpr JsonLimits kLimits{.text_bytes = 32 << 20, .built_bytes = 24 << 20, .depth = 64};
constexpr std::size_t kBytesPerScore = 48;  // initial size of a reply

// Returns whether JSON shows the character unescaped.
bool is_plain(char letter) { return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\'; }

// Reads the list of plain strings that begins at `at`, as kube-scheduler writes names, without building values, and
// moves `at` behind it; no value if it has another form.
std::optional<std::vector<std::string>> plain_list(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '[') return std::nullopt;
  std::vector<std::string> texts;
  if (++at < text.size() && text[at] == ']') {
    ++at;
    return texts;
  }
  for (;;) {
    if (at >= text.size() || text[at] != '"') return std::nullopt;
    const std::size_t begin = ++at;
    while (at < text.size() && is_plain(text[at])) ++at;
    if (at >= text.size() || text[at] != '"') return std::nullopt;
    texts.emplace_back(text.substr(begin, at - begin));
    if (++at >= text.size()) return std::nullopt;
    if (text[at] == ']') break;
    if (text[at++] != ',') return std::nullopt;
  }
  ++at;
  return texts;
}

// Keeps only the names of whole nodes, which have about 4 KB each.
bool keeps(std::size_t depth, std::string_view key, bool& in_nodes) {
  if (depth == 1) in_nodes = key == "Nodes";
  if (depth == 1 || !in_nodes) return true;
  return (depth == 2 && key == "items") || (depth == 4 && key == "metadata") || (depth == 5 && key == "name");
}

Result<PodAsk> parse_all(std::string_view text) {
  bool in_nodes = false;
  auto parsed = json::parse(text, kLimits, "request body",
                            [&](std::size_t depth, std::string_view key) { return keeps(depth, key, in_nodes); });
  if (!parsed) {
    parsed.error().fix = "send ExtenderArgs";
    return forward_error(parsed);
  }
  const json& args = *parsed;
  if (!args.is_object()) return fail(Errc::malformed, "request body", "is not a JSON object", "send ExtenderArgs");
  const auto pod = args.find("Pod");
  if (pod == args.end() || !pod->is_object())
    return fail(Errc::malformed, "Pod", "is not an object", "send the v1.Pod");

  PodAsk ask;
  ask.scheduler = read_pod(*pod, ask);
  const auto names = args.find("NodeNames");
  const auto nodes = args.find("Nodes");
  if (names != args.end() && !names->is_null()) {
    WATTLE_CHECK(read_node_names(*names, ask.candidates));
  } else if (nodes != args.end() && !nodes->is_null()) {
    WATTLE_CHECK(read_nodes(*nodes, ask.candidates));
  }
  return ask;
}

std::size_t past_space(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) ++at;
  return at;
}

// Position after the string that begins here.
std::size_t past_text(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// Position after the value that begins here.
std::size_t past_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char letter = text[at];
    if (letter == '"') {
      at = past_text(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (letter == '{' || letter == '[') ++depth;
    if (letter == '}' || letter == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    }
    if (letter == ',' && depth == 0) return at;
    ++at;
  }
  return text.size();
}

// NodeNames of the outermost object if they are the only ones and a plain list; begin and end of the list.
struct PlainNames {
  std::vector<std::string> names;
  std::size_t begin = 0, end = 0;
};

std::optional<PlainNames> plain_names(std::string_view text) {
  constexpr std::string_view kKey = "\"NodeNames\"";
  std::optional<PlainNames> found;
  std::size_t at = past_space(text, 0);
  if (at == text.size() || text[at] != '{') return std::nullopt;
  for (++at;; ++at) {
    at = past_space(text, at);
    if (at >= text.size() || text[at] != '"') return std::nullopt;
    const std::size_t begin = at;
    at = past_text(text, at);
    const std::string_view name = text.substr(begin, at - begin);
    at = past_space(text, at);
    if (at >= text.size() || text[at] != ':' || name.find('\\') != name.npos) return std::nullopt;
    at = past_space(text, at + 1);
    if (name == kKey) {
      const std::size_t list = at;
      auto names = found ? std::nullopt : plain_list(text, at);
      if (!names) return std::nullopt;
      found = PlainNames{std::move(*names), list, at};
    } else {
      at = past_value(text, at);
    }
    at = past_space(text, at);
    if (at >= text.size() || text[at] != ',') return found;
  }
}

}  // namespace

Result<PodAsk> parse_extender_args(std::string_view text) {
  // Names are most of a request, and parsing them would be most of its cost.
  auto plain = text.size() > kLargeBytes ? std::nullopt : plain_names(text);
  if (plain && !plain->names.empty()) {
    std::string rest(text.substr(0, plain->begin));
    rest += "[]";
    rest += text.substr(plain->end);
    auto ask = parse_all(rest);
    if (!ask) return parse_all(text);  // parses the original text, to which positions in the error refer
    ask->candidates = std::move(plain->names);
    return ask;
  }
  return parse_all(text);
}

Result<PodAsk> parse_pod_ask(std::string_view text, std::vector<std::string> candidates) {
  const auto pod = json::parse(text, kLimits, "pod");
  if (!pod) return tl::unexpected<Error>(pod.error());
  if (!pod->is_object()) return fail(Errc::malformed, "pod", "is not an object", "send the v1.Pod");
  PodAsk ask;
  ask.scheduler = read_pod(*pod, ask);
  ask.candidates = std::move(candidates);
  return ask;
}

std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names;
  const auto list = raw_member(text, "NodeNames");
  const json parsed = list ? json::read(*list, kLimits) : json();
  if (!parsed.is_array() || !read_node_names(parsed, names)) names.clear();
  return names;
}

namespace {

// Compares a quoted name, which may have escapes, with a key.
bool is_name(std::string_view quoted, std::string_view key) {
  if (quoted.find('\\') == quoted.npos) return quoted.size() == key.size() + 2 && quoted.substr(1, key.size()) == key;
  return json::read(quoted, kLimits) == key;
}

// Calls `visit` with the quoted name and the value of each member of an object.
template <class Visit>
void visit_members(std::string_view text, Visit visit) {
  std::size_t at = past_space(text, 0);
  if (at == text.size() || text[at] != '{') return;
  for (++at;;) {
    at = past_space(text, at);
    if (at >= text.size() || text[at] != '"') return;
    const std::size_t begin = at;
    at = past_text(text, at);
    const std::string_view name = text.substr(begin, at - begin);
    at = past_space(text, at);
    if (at >= text.size() || text[at] != ':') return;
    const std::size_t value = past_space(text, at + 1);
    at = past_value(text, value);
    visit(name, text.substr(value, at - value));
    at = past_space(text, at);
    if (at >= text.size() || text[at] != ',') return;
    ++at;
  }
}

std::string unquoted(std::string_view quoted) {
  if (quoted.size() < 2) return {};
  if (quoted.find('\\') == quoted.npos) return std::string(quoted.substr(1, quoted.size() - 2));
  const json parsed = json::read(quoted, kLimits);
  return parsed.is_string() ? parsed.get<std::string>() : std::string();
}

}  // namespace

std::optional<std::string_view> raw_member(std::string_view text, std::string_view key) {
  std::optional<std::string_view> found;
  visit_members(text, [&](std::string_view name, std::string_view value) {
    // The last of duplicate members counts, as everywhere.
    if (is_name(name, key)) found = value;
    if (found && found->starts_with("null")) found.reset();
  });
  return found;
}

std::vector<RawMember> raw_members(std::string_view text) {
  std::vector<RawMember> members;
  visit_members(text, [&](std::string_view name, std::string_view value) {
    members.push_back({unquoted(name), value});
  });
  return members;
}

std::vector<std::string_view> raw_items(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t at = past_space(text, 0);
  if (at == text.size() || text[at] != '[') return items;
  for (at = past_space(text, at + 1); at < text.size() && text[at] != ']';) {
    const std::size_t end = past_value(text, at);
    items.push_back(text.substr(at, end - at));
    at = past_space(text, end);
    if (at >= text.size() || text[at] != ',') break;
    at = past_space(text, at + 1);
  }
  return items;
}

namespace {
void append(std::string& out, const json& value) { out += value.dump(); }
}  // namespace

void append_text(std::string& out, const std::string& text) {
  if (!std::all_of(text.begin(), text.end(), is_plain)) return append(out, json(text));
  out += '"';
  out += text;
  out += '"';
}

std::string format_filter(std::span<const std::string> passed, const std::map<std::string, std::string>& vetoed) {
  std::string out = "{\"NodeNames\":[";
  for (const std::string& name : passed) {
    if (out.back() != '[') out += ',';
    append_text(out, name);
  }
  out += "],\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":";
  append(out, json(vetoed));
  return out + ",\"Error\":\"\"}";
}

std::string format_filter_nodes(std::string_view raw_nodes) {
  return "{\"Nodes\":" + std::string(raw_nodes) +
         ",\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":\"\"}";
}

std::string format_scores(std::span<const std::string> candidates, std::span<const std::int64_t> scores) {
  std::string out = "[";
  const auto named = scores.size() - static_cast<std::size_t>(std::count(scores.begin(), scores.end(), 0));
  out.reserve(named * kBytesPerScore);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (scores[i] == 0) continue;
    if (out.back() != '[') out += ',';
    out += "{\"Host\":";
    append_text(out, candidates[i]);
    out += ",\"Score\":";
    out += std::to_string(scores[i]);
    out += '}';
  }
  out += ']';
  return out;
}

}  // namespace wattle::shim
