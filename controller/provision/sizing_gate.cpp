#include "controller/provision/sizing_gate.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/json/value.hpp"
#include "controller/known_fields.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kMostSizingReportHeap = 32 << 20;
constexpr double kRolledBackDay_s = 86'400;

std::string report_text(const SortedJson& object, const char* key) {
  const SortedJson& value = object[key];
  return value.is_string() ? value.string().substr(0, kMostSizingReason) : std::string();
}

bool was_rolled_back(const placement::OwnerSizing& state, double now_s) {
  return state.rolled_back_s > 0 && now_s - state.rolled_back_s < kRolledBackDay_s;
}

}  // namespace

std::string closed_to(const ModeSetting& to, const ModeSetting& from, const std::map<std::string, SizedOwner>& owners,
                      double now_s, const placement::SizingOptions& options) {
  if (to.mode <= from.mode || to.mode == Mode::shadow) return {};
  if (from.mode == Mode::off) return "shadow is the next mode";
  if (to.mode == Mode::canary) {
    const bool observed = std::any_of(owners.begin(), owners.end(), [&](const auto& item) {
      const placement::ShadowUse& shadow = item.second.state.shadow;
      return shadow.since_s > 0 && now_s - shadow.since_s >= options.shadow_s;
    });
    return observed ? "" : "no owner has been observed for an hour";
  }
  if (from.mode != Mode::canary) return "canary is the next mode";
  bool settled = false;
  for (const auto& [name, owner] : owners) {
    if (was_rolled_back(owner.state, now_s))
      return "the requests of " + name + " were rolled back within a day: " + owner.state.why;
    settled = settled || (!owner.state.lowered.empty() && now_s - owner.state.changed_s >= options.settle_s);
  }
  return settled ? "" : "no owner of the canary has kept its lower requests for half an hour";
}

std::vector<std::string> sizing_alarms(const std::map<std::string, SizedOwner>& owners,
                                       const std::function<bool(const std::string& name_space)>& is_silent,
                                       double now_s) {
  std::vector<std::string> worst, rolled;
  std::map<std::string, std::size_t> silent;
  for (const auto& [name, owner] : owners) {
    const placement::OwnerSizing& state = owner.state;
    if (state.state == placement::SizingState::restoring && state.late)
      worst.push_back("the original requests of " + name + " are not in force yet: " + state.why);
    else if (was_rolled_back(state, now_s))
      rolled.push_back("the lower requests of " + name + " were rolled back: " + state.why);
    const std::string name_space = name.substr(0, name.find('/'));
    if (!state.lowered.empty() && is_silent(name_space)) ++silent[name_space];
  }
  for (const auto& [name_space, count] : silent)
    worst.push_back("namespace " + name_space + " has " + std::to_string(count) + (count == 1 ? " owner" : " owners") +
                    " with lower requests, and no `wattle provision set --follow` reports from there");
  worst.insert(worst.end(), rolled.begin(), rolled.end());
  return worst;
}

Result<SetterReports> parse_report(const std::string& body) {
  const SortedJson document =
      SortedJson::read(body, {.text_bytes = kMostSizingReportBytes, .built_bytes = kMostSizingReportHeap});
  SetterReports reports;
  if (document.is_object()) reports.name_space = report_text(document, "namespace");
  if (reports.name_space.empty())
    return fail(Errc::malformed, "report", "is not an object with a namespace",
                "update the client that runs `wattle provision set --follow`");
  static constexpr std::array<std::string_view, 2> kFields{"namespace", "workloads"}, kOfWorkload{"state", "why"};
  WATTLE_CHECK(check_fields("the report", document, kFields));
  const auto workloads = document.find("workloads");
  if (workloads == document.end() || !workloads->is_object()) return reports;
  for (const auto& [name, said] : workloads->items())
    if (said.is_object()) WATTLE_CHECK(check_fields("workload " + name, said, kOfWorkload));
  for (const auto& [name, said] : workloads->items())
    if (said.is_object() && name.starts_with(reports.name_space + "/"))
      reports.workloads[name] = {report_text(said, "state"), report_text(said, "why"), 0};
  return reports;
}

}  // namespace wattle::controller
