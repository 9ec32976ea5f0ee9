// Lists and specs of the API server: any bytes parse or are refused with a reason, and the selectors of any spec parse
// or are ones that no API server accepts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/json/value.hpp"
#include "common/kube/autoscalers.hpp"
#include "common/kube/label_selector.hpp"
#include "common/kube/node_terms.hpp"
#include "common/kube/preferences.hpp"
#include "common/kube/scheduling_hold.hpp"
#include "controller/power/disruption_budgets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kube::AutoscalerLists lists;
  for (const auto kind : {kube::AutoscalerKind::horizontal, kube::AutoscalerKind::keda}) {
    const auto next = kube::read_autoscalers(text, kind, lists);
    if (!next && next.error().what.empty()) std::abort();
  }
  for (const auto& [workload, owner] : lists.all.workloads)
    if (owner.empty() || lists.all.of(workload) != owner) std::abort();
  const auto budgets = controller::power::parse_budgets(std::string(text));
  if (!budgets && budgets.error().what.empty()) std::abort();
  if (budgets)
    for (const auto& budget : budgets->unsatisfied) {
      static_cast<void>(budget.covers(budget.name_space, "app=web,tier="));
      if (budget.covers(budget.name_space + "x", "app=web")) std::abort();
    }
  const auto object = SortedJson::read(text, {64 << 20, 1 << 30});
  if (object.is_discarded()) return 0;
  for (const std::string& term : kube::read_node_terms(object))
    if (const auto selector = kube::LabelSelector::parse(term, "term"))
      static_cast<void>(selector->matches({{"zone", "a"}, {kube::kNodeName, "n1"}}));
  static_cast<void>(kube::soft_preferences(object));
  static_cast<void>(kube::soft_tolerations(object));
  if (kube::scheduling_hold(object).count() < 0) std::abort();
  return 0;
}
