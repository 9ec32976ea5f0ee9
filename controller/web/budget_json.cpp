#include "controller/web/budget_json.hpp"

#include "controller/web/cluster_json.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

json budget_json(const placement::Budget& budget) {
  const auto used = budget.used_ratio();
  return {{"limit", budget.in_force() ? json(budget.limit()) : json(nullptr)},
          {"in_force", budget.in_force()},
          {"set", budget.limit_set()},
          {"measured", or_null(budget.measured())},
          {"used_ratio", or_null(used)},
          {"exceeded", used.value_or(0) > 1},
          {"under_default", or_null(budget.under_default())}};
}

}  // namespace

json budgets_json(const placement::ClusterModel& known) {
  json budgets = {{"cpu_wait", budget_json(known.cpu_wait())}, {"late", budget_json(known.late())}};
  budgets["cpu_wait"]["price_w"] = known.cpu_wait().price();
  budgets["late"]["price"] = known.latency_price();
  return budgets;
}

}  // namespace wattle::controller
