#include "controller/web/savings_json.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/json/value.hpp"
#include "controller/config.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/fleet_json.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;

constexpr const char* kAssumes =
    "Pods are packed by their requests; affinity, topology spread and disruption budgets are not modelled. Nodes that "
    "become empty save power only if they sleep.";

json kept_json(const std::map<std::string, std::vector<std::string>>& kept) {
  json list = json::array();
  for (const auto& [why, nodes] : kept)
    list.push_back(
        {{"why", why},
         {"nodes", nodes.size()},
         {"first", std::vector<std::string>(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(
                                                                               std::min(nodes.size(), kMostKept)))}});
  return list;
}

json lever_json(const SavingLever& lever, const Tariff& tariff, std::size_t limit) {
  json items = json::array();
  for (std::size_t i = 0; i < std::min(limit, lever.items.size()); ++i) {
    const SavingItem& item = lever.items[i];
    items.push_back({{"name", item.name},
                     {"text", item.text},
                     {"saved_w", or_null(item.saved_w)},
                     {"nodes", or_null(item.nodes)},
                     {"command", text_or_null(item.command)}});
  }
  json object{{"lever", placement::to_string(lever.kind)},
              {"text", lever.text},
              {"saved_w", or_null(lever.saved_w)},
              {"saved_low_w", or_null(lever.low_w)},
              {"saved_high_w", or_null(lever.high_w)},
              {"no_interval", text_or_null(lever.no_interval)},
              {"energy_j_per_day", or_null(per_day_j(lever.saved_w))},
              {"in_force", lever.in_force},
              {"nodes", or_null(lever.nodes)},
              {"command", text_or_null(lever.command)},
              {"measured", text_or_null(lever.measured)},
              {"more", lever.items.size() - items.size()},
              {"items", std::move(items)},
              {"kept", kept_json(lever.kept)}};
  tariff.add_to(object, per_day_j(lever.saved_w), "_per_day");
  return object;
}

}  // namespace

Document savings_text(const Parts& from, const Arguments& arguments) {
  auto limit = parse_limit(arguments, 10);
  if (!limit) return ready(Result<std::string>(forward_error(limit)));
  const auto now = std::make_shared<SavingsNow>();
  return then(find_savings(from, now), [&from, now, most = *limit] {
    const Tariff& tariff = from.config.tariff;
    json levers = json::array();
    for (const SavingLever& lever : now->levers) levers.push_back(lever_json(lever, tariff, most));
    json sum{{"saved_w", now->sum.saved_w},
             {"in_force_w", now->sum.in_force_w},
             {"overlap_w", now->sum.overlap_w},
             {"energy_j_per_day", or_null(per_day_j(now->sum.saved_w))}};
    tariff.add_to(sum, per_day_j(now->sum.saved_w), "_per_day");
    const json document{{"power_w", or_null(now->power_w)},
                        {"sum", std::move(sum)},
                        {"assumes", kAssumes},
                        {"levers", std::move(levers)}};
    return ready(Result<std::string>(document.dump()));
  });
}

void add_savings(Families& families, const SavingsNow& savings) {
  prometheus::MetricFamily& family =
      families.family("wattle_controller_available_saving_watts",
                      "Modelled power that a lever saves, or would save, with its 95% interval. The savings of levers "
                      "may overlap.",
                      prometheus::MetricType::Gauge);
  for (const SavingLever& lever : savings.levers)
    for (const auto& [bound, value] : {std::pair{"mean", lever.saved_w}, {"low", lever.low_w}, {"high", lever.high_w}})
      if (value)
        Families::add(family,
                      {{"lever", std::string(to_string(lever.kind))},
                       {"in_force", lever.in_force ? "yes" : "no"},
                       {"bound", bound}},
                      *value);
}

}  // namespace wattle::controller
