// former_names: the earlier names of scenarios. These names are used in this file only.
// Accepted  on command lines, and written beside the present names in JSON, for one more release
// Errors    none: a name that is not former is returned unchanged
// Threads   pure
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace wattle::sim {

struct FormerName {
  std::string_view former, now;
};
inline constexpr std::string_view kConsolidation = "consolidation";
// Names for `bench --scenarios`, and for the `id` of a trial in its JSON.
inline constexpr std::array<FormerName, 13> kFormerNames{{{"X1", "thesis_test1"},
                                                          {"X2", "thesis_test2"},
                                                          {"X3", "latency_shift"},
                                                          {"X4", "drs"},
                                                          {"X5", "closed_loop"},
                                                          {"X6", "memory_only"},
                                                          {"X7", "provisioning"},
                                                          {"X8", kConsolidation},
                                                          {"X9", "machines_fail"},
                                                          {"X10", "curve_change"},
                                                          {"X11", "liars"},
                                                          {"X12", "burst"},
                                                          {"sleep", "churn_sleep"}}};
// Names for the commands that play consolidation (with --churn), and for its part of the suite's JSON.
inline constexpr std::string_view kFormerConsolidation = "x8", kFormerConsolidationModel = "--x8-model";

inline std::string_view present_scenario(std::string_view name) {
  const auto found = std::find_if(kFormerNames.begin(), kFormerNames.end(),
                                  [&](const FormerName& each) { return each.former == name; });
  return found == kFormerNames.end() ? name : found->now;
}
inline std::string_view former_scenario(std::string_view name) {
  const auto found =
      std::find_if(kFormerNames.begin(), kFormerNames.end(), [&](const FormerName& each) { return each.now == name; });
  return found == kFormerNames.end() ? name : found->former;
}

}  // namespace wattle::sim
