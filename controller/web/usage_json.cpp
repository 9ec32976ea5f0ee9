#include "controller/web/usage_json.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "controller/web/cluster_json.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;

constexpr std::array<std::pair<std::string_view, ReportBy>, 5> kBy{{{"namespace", ReportBy::name_space},
                                                                    {"owner", ReportBy::owner},
                                                                    {"node", ReportBy::node},
                                                                    {"label", ReportBy::label},
                                                                    {"container", ReportBy::container}}};
constexpr const char* kByFix = "use namespace, owner, node, label or container";
constexpr std::size_t kMaxPodBytes = 512;
constexpr std::size_t kMaxKeyBytes = 317;  // of a label: a DNS name, "/" and a name

double joules(std::int64_t energy_uj) { return static_cast<double>(energy_uj) * 1e-6; }
double seconds_of(std::int64_t time_us) { return static_cast<double>(time_us) * 1e-6; }
std::int64_t sum_uj(const Energy& energy) { return energy.energy_uj + energy.estimated_uj; }

json energy_json(const Energy& energy, const Tariff& tariff) {
  json object = {{"measured_j", joules(energy.energy_uj)}, {"estimated_j", joules(energy.estimated_uj)}};
  tariff.add_to(object, joules(sum_uj(energy)));
  return object;
}

json row_json(const UsageRow& row, const Tariff& tariff) {
  json object = energy_json({row.used.energy_uj, row.used.estimated_uj}, tariff);
  const bool reported = row.used.pressure_us > 0;
  object["core_h"] = seconds_of(row.used.cpu_us) / 3600;
  object["waited_s"] = reported ? json(seconds_of(row.used.wait_us)) : json(nullptr);
  object["waiting_ratio"] =
      reported ? json(static_cast<double>(row.used.wait_us) / static_cast<double>(row.used.pressure_us))
               : json(nullptr);
  object["placements"] = row.placements;
  object["workloads"] = row.workloads;
  return object;
}

json node_json(json object, const NodeUse& use, const Tariff& tariff) {
  object["idle"] = energy_json(use.idle, tariff);
  object["unattributed"] = energy_json(use.unattributed, tariff);
  object["drawn"] = energy_json(use.drawn, tariff);
  return object;
}

// A pod without any record is a mistyped name. A label that no workload has is a valid answer: all rows are "(none)".
Status known_name(const UsageQuery& query, const UsageReport& report) {
  if (report.from_s == 0) return {};
  const bool of_pod = std::any_of(report.rows.begin(), report.rows.end(),
                                  [](const auto& row) { return row.first.find('/') != std::string::npos; });
  if (!query.pod.empty() && !of_pod)  // a container's row is "namespace/pod/container"
    return fail(Errc::not_found, "pod " + query.pod, "no container of the pod was recorded in that period",
                "list running pods with `wattle pods`; extend the period with --since");
  return {};
}

}  // namespace

Result<ReportQuery> parse_report(const Arguments& arguments, WallTime now, const Tariff& tariff) {
  ReportQuery query;
  query.tariff = tariff;
  query.until_s = to_ns(now) / 1'000'000'000;
  WATTLE_TRY(query.usage.since_s, parse_since(arguments, "7d", now));
  WATTLE_TRY(query.limit, parse_limit(arguments, kMostHistory));
  const auto by = arguments.find("by"), label = arguments.find("label"), pod = arguments.find("pod");
  if (by != arguments.end()) {
    const auto* known = std::find_if(kBy.begin(), kBy.end(), [&](const auto& one) { return one.first == by->second; });
    if (known == kBy.end()) return fail(Errc::malformed, "argument by", "invalid value '" + by->second + "'", kByFix);
    query.usage.by = known->second;
  } else if (label != arguments.end()) {
    query.usage.by = ReportBy::label;
  } else if (pod != arguments.end()) {
    query.usage.by = ReportBy::container;
  }
  if (pod != arguments.end()) {
    if (query.usage.by != ReportBy::container)
      return fail(Errc::malformed, "argument pod", "is only for rows by container", "use by=container, or omit it");
    if (pod->second.empty() || pod->second.size() > kMaxPodBytes)
      return fail(Errc::malformed, "argument pod", "is not a pod", "use the UID, the name or NAMESPACE/NAME");
    query.usage.pod = pod->second;
  }
  if (query.usage.by != ReportBy::label) {
    if (label == arguments.end()) return query;
    return fail(Errc::malformed, "argument label", "is only for rows by label", "use by=label, or omit it");
  }
  if (label == arguments.end() || label->second.empty())
    return fail(Errc::malformed, "argument label", "is missing", "pass the key of the label, for example label=team");
  if (label->second.size() > kMaxKeyBytes || label->second.find_first_of(",= ") != std::string::npos)
    return fail(Errc::malformed, "argument label", "is not the key of a label",
                "use a key without a value, for example label=team");
  query.usage.label = label->second;
  return query;
}

Result<std::string> report_text(StoreFile& file, const ReportQuery& query) {
  if (!file.usage().kept()) return fail(Errc::not_found, "report", "usage is not recorded", "set store.path");
  WATTLE_TRY(const UsageReport report, file.report(query.usage));
  WATTLE_CHECK(known_name(query.usage, report));
  using Row = std::map<std::string, UsageRow>::const_iterator;
  std::vector<Row> order;
  for (Row row = report.rows.begin(); row != report.rows.end(); ++row) order.push_back(row);
  // A node also draws power that belongs to no workload.
  const auto drew = [&](const Row& row) {
    const auto node = report.by_node.find(row->first);
    return node == report.by_node.end() ? sum_uj({row->second.used.energy_uj, row->second.used.estimated_uj})
                                        : sum_uj(node->second.drawn);
  };
  std::stable_sort(order.begin(), order.end(), [&](const Row& a, const Row& b) { return drew(a) > drew(b); });
  json rows = json::array();
  UsageRow rest;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [key, row] = *order[i];
    if (i < query.limit) {
      json object = row_json(row, query.tariff);
      if (const auto node = report.by_node.find(key); node != report.by_node.end())
        object = node_json(std::move(object), node->second, query.tariff);
      object["key"] = key;
      rows.push_back(std::move(object));
      continue;
    }
    rest.used.add(row.used);
    rest.workloads += row.workloads;
    rest.placements += row.placements;
  }
  json others = nullptr;
  if (order.size() > query.limit) {
    others = row_json(rest, query.tariff);
    others["rows"] = order.size() - query.limit;
  }
  const auto by = std::find_if(kBy.begin(), kBy.end(), [&](const auto& one) { return one.second == query.usage.by; });
  const json document = {{"by", by->first},
                         {"label", text_or_null(query.usage.label)},
                         {"pod", text_or_null(query.usage.pod)},
                         {"since_wall_s", query.usage.since_s},
                         {"from_wall_s", report.from_s > 0 ? json(report.from_s) : json(nullptr)},
                         {"to_wall_s", query.until_s},
                         {"cut", report.cut},
                         {"rows", std::move(rows)},
                         {"rest", std::move(others)},
                         {"idle", energy_json(report.nodes.idle, query.tariff)},
                         {"unattributed", energy_json(report.nodes.unattributed, query.tariff)},
                         {"missing", energy_json(report.missing(), query.tariff)},
                         {"nodes", energy_json(report.nodes.drawn, query.tariff)}};
  return document.dump();
}

}  // namespace wattle::controller
