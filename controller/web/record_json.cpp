#include "controller/web/record_json.hpp"

#include <algorithm>
#include <memory>

#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "placement/cluster/demand.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;

constexpr const char* kOfFix = "use nodes, pods or hours";
constexpr std::int64_t kLost_s = 7200;  // pods without a report for this long have ended unobserved

// Cores in each hour, starting with that of its arrival; null where nothing is known.
json used_json(const PodLife& life, std::int64_t end_s, std::int64_t slot_s) {
  json cores = json::array();
  auto hour = life.hours.begin();
  for (std::int64_t slot = life.pod.placed_s - life.pod.placed_s % slot_s; slot < end_s; slot += slot_s) {
    while (hour != life.hours.end() && hour->first < slot) ++hour;
    const std::int64_t lived_s = std::min(end_s, slot + slot_s) - std::max(life.pod.placed_s, slot);
    std::int64_t cpu_us = 0;
    const bool known = hour != life.hours.end() && hour->first == slot;
    // The current hour may have two rows.
    for (; hour != life.hours.end() && hour->first == slot; ++hour) cpu_us += hour->second;
    cores.push_back(known && lived_s > 0 ? json(static_cast<double>(cpu_us) * 1e-6 / static_cast<double>(lived_s))
                                         : json(nullptr));
  }
  return cores;
}

json pod_json(const PodLife& life, const RecordQuery& query) {
  constexpr std::int64_t kSlot_s = 3600;
  const bool lost = life.pod.ended_s == 0 && life.last_s + kLost_s < query.now_s;
  const std::int64_t ended_s = lost ? std::max(life.last_s, life.pod.placed_s) : life.pod.ended_s;
  const placement::AppKey app = placement::app_key_of(life.pod.app, {});
  return {{"owner", app.owner},
          {"image", app.image},
          {"labels", app.labels},
          {"cpu_cores", static_cast<double>(life.pod.cpu_millicores) * 1e-3},
          {"memory_bytes", life.pod.memory_bytes},
          {"node", life.pod.node},
          {"placed_s", life.pod.placed_s},
          {"ended_s", ended_s > 0 ? json(ended_s) : json(nullptr)},
          {"used_cores", used_json(life, ended_s > 0 ? ended_s : query.now_s, kSlot_s)}};
}

Result<json> pods_json(StoreFile& file, const RecordQuery& query) {
  WATTLE_TRY(const auto lives, file.usage().lives(query.after_uid, query.since_s, kMostRecordRows));
  json rows = json::array();
  for (const PodLife& life : lives.pods) rows.push_back(pod_json(life, query));
  return json{
      {"of", "pods"}, {"rows", std::move(rows)}, {"next", lives.next.empty() ? json(nullptr) : json(lives.next)}};
}

Result<json> hours_json(StoreFile& file, const RecordQuery& query) {
  WATTLE_TRY(const auto hours, file.usage().node_hours(query.after_slot_s, query.after_node, kMostRecordRows));
  json rows = json::array();
  for (const NodeHour& hour : hours)
    rows.push_back({{"from_s", hour.slot_s},
                    {"node", hour.name},
                    {"measured_j", static_cast<double>(hour.use.drawn.energy_uj) * 1e-6},
                    {"estimated_j", static_cast<double>(hour.use.drawn.estimated_uj) * 1e-6}});
  json next = nullptr;
  if (hours.size() == kMostRecordRows)
    next = std::to_string(hours.back().slot_s) + ":" + std::to_string(hours.back().node);
  return json{{"of", "hours"}, {"rows", std::move(rows)}, {"next", std::move(next)}};
}

}  // namespace

Result<RecordQuery> parse_record(const Arguments& arguments, WallTime now) {
  RecordQuery query;
  const std::string of = argument(arguments, "of"), after = argument(arguments, "after");
  if (of != "pods" && of != "hours") return fail(Errc::malformed, "argument of", "invalid value '" + of + "'", kOfFix);
  query.pods = of == "pods";
  query.now_s = to_ns(now) / 1'000'000'000;
  WATTLE_TRY(query.since_s, parse_since(arguments, "30d", now));
  if (query.pods) {
    query.after_uid = after;
    return query;
  }
  query.after_slot_s = query.since_s - 1;
  query.after_node = -1;
  if (after.empty()) return query;
  const auto colon = after.find(':');
  const auto slot = parse::u64(std::string_view(after).substr(0, colon));
  const auto node = colon == std::string::npos ? std::nullopt : parse::u64(std::string_view(after).substr(colon + 1));
  if (!slot || !node || *slot > (std::uint64_t{1} << 40) || *node > (std::uint64_t{1} << 40))
    return fail(Errc::malformed, "argument after", "invalid value '" + after + "'",
                "use the value `next` of the previous page");
  query.after_slot_s = static_cast<std::int64_t>(*slot);
  query.after_node = static_cast<std::int64_t>(*node);
  return query;
}

Result<std::string> record_text(StoreFile& file, const RecordQuery& query) {
  if (!file.usage().kept()) return fail(Errc::not_found, "record", "usage is not recorded", "set store.path");
  WATTLE_CHECK(file.write_ledger());  // includes pending rows
  WATTLE_TRY(const json document, query.pods ? pods_json(file, query) : hours_json(file, query));
  return document.dump();
}

Document record_nodes_text(const ClusterState& state, const Arguments& arguments) {
  for (const auto& [name, value] : arguments)
    if (name != "of") return ready(Result<std::string>(fail(Errc::malformed, "argument " + name, "unknown argument")));
  const auto rows = std::make_shared<json>(json::array());
  Steps steps = each_of(state.nodes(), [&state, rows](const auto& item) {
    const placement::NodeView& view = *state.node_view(item.first);
    rows->push_back({{"name", item.first},
                     {"cores", view.allocatable.cpu_cores},
                     {"memory_bytes", view.allocatable.memory_bytes},
                     {"watts", view.curve.points()},
                     {"readings", view.curve.samples()},
                     {"residual_sd_w", view.curve.residual_sd_w()},
                     {"state", view.asleep  ? "asleep"
                               : view.ready ? "ready"
                                            : "not ready"},
                     {"wake_j", view.wake_cost_j}});
  });
  return then(std::move(steps), [rows] {
    return ready(Result<std::string>(json{{"of", "nodes"}, {"rows", std::move(*rows)}, {"next", nullptr}}.dump()));
  });
}

}  // namespace wattle::controller
