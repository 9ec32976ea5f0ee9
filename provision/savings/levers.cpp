#include "provision/savings/levers.hpp"

#include <algorithm>
#include <array>

namespace wattle::placement {

std::string_view to_string(LeverKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"sleep", "drain", "requests", "replicas", "placement"};
  return kNames[static_cast<std::size_t>(kind)];
}

void order_by_size(std::vector<LeverSaving>& levers) {
  std::stable_sort(levers.begin(), levers.end(), [](const LeverSaving& a, const LeverSaving& b) {
    if (a.saved_w.has_value() != b.saved_w.has_value()) return a.saved_w.has_value();
    return a.saved_w.value_or(0) > b.saved_w.value_or(0);
  });
}

SavingsSum sum_of(std::span<const LeverSaving> levers, const Together& together, std::optional<double> fleet_w) {
  const auto available_w = [&](LeverKind kind) -> std::optional<double> {
    for (const LeverSaving& each : levers)
      if (each.kind == kind && !each.in_force && each.saved_w) return std::max(0.0, *each.saved_w);
    return std::nullopt;
  };
  double all_w = 0, in_force_w = 0;
  for (const LeverSaving& each : levers)  // a lever that would cost energy counts as 0
    (each.in_force ? in_force_w : all_w) +=
        each.in_force ? each.saved_w.value_or(0) : std::max(0.0, each.saved_w.value_or(0));
  const auto requests_w = available_w(LeverKind::requests), replicas_w = available_w(LeverKind::replicas);
  const double changes_w =
      requests_w && replicas_w ? together.requests_and_replicas_w : requests_w.value_or(0) + replicas_w.value_or(0);
  const double empty_w = available_w(LeverKind::sleep).value_or(0) + changes_w;
  const double drain_w = available_w(LeverKind::drain).value_or(0);
  const double placement_w = available_w(LeverKind::placement).value_or(0);
  // Their overlap is not modelled: the larger one counts.
  double saved_w = empty_w + (drain_w > 0 ? std::max(drain_w, placement_w) : placement_w);
  if (together.placement_sleeps) saved_w = std::max(empty_w + drain_w, placement_w);
  if (fleet_w) saved_w = std::min(saved_w, std::max(0.0, *fleet_w));
  return {saved_w, in_force_w, all_w - saved_w};
}

}  // namespace wattle::placement
