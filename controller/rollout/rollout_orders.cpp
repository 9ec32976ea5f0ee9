// rollout_orders: handles operators' orders to the rollout manager: set, promote, roll back.

#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "controller/rollout/rollout_manager.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kMostReason = 500;

std::string argument_of(const std::map<std::string, std::string>& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::string() : found->second.substr(0, kMostReason);
}

}  // namespace

Result<std::string> RolloutManager::handle(const std::string& what, const std::map<std::string, std::string>& arguments,
                                           const std::string& who) {
  const std::string why = argument_of(arguments, "why");
  if (what == "policy-set") {
    WATTLE_CHECK(set(arguments, who, why));
  } else if (what == "policy-promote") {
    WATTLE_CHECK(promote(argument_of(arguments, "force") == "yes", who, why));
  } else if (what == "policy-rollback") {
    WATTLE_CHECK(rollback(arguments, who, why));
  } else {
    return fail(Errc::not_found, what, "is not a change of the policy",
                "use policy-set, policy-promote or policy-rollback");
  }
  return document().dump();
}

Status RolloutManager::set(const std::map<std::string, std::string>& arguments, const std::string& who,
                           const std::string& why) {
  for (const auto& [name, value] : arguments) {
    const bool known = name == "why" || name == "mode" || name == "policy" || name == "reward" || name == "load" ||
                       name == "expression" || name == "force" || name == "reference_w" || name == "horizon_s" ||
                       name == "cpu_wait" || name == "late" || name.starts_with("weight.");
    if (!known) return fail(Errc::malformed, "argument " + name, "unknown argument");
  }
  WATTLE_TRY(RolloutSpec to, with_changes(spec_, arguments));
  const std::string what = described(spec_, to);
  if (what == "nothing changed") return {};
  const bool further = to.mode.mode > spec_.mode.mode && to.mode.mode > Mode::shadow;
  const std::string closed = closed_to(to);
  WATTLE_CHECK(enter(std::move(to), closed, argument_of(arguments, "force") == "yes", who, what, why));
  if (further) events_.push_back(RolloutEvent::network_promoted);
  return {};
}

std::string RolloutManager::closed_to(const RolloutSpec& to) const {
  if (to.mode.mode <= spec_.mode.mode || to.mode.mode == Mode::shadow) return {};
  const Gate next = gate();
  if (to.mode.mode != next.next->mode)
    return next.next->text() + " is the next mode" +
           (next.closed.empty() ? "" : ", and its gate is closed: " + next.closed);
  if (!next.closed.empty()) return next.closed;
  const bool same_ranking = to.policy == spec_.policy && to.reward == spec_.reward;
  return same_ranking ? ""
                      : "the evidence applies to the previous policy and reward: change these first, in mode " +
                            spec_.mode.text();
}

// Enters a spec through its gate, or skips the gate with `force`.
Status RolloutManager::enter(RolloutSpec to, const std::string& closed, bool force, const std::string& who,
                             const std::string& what, const std::string& why, bool anyway) {
  const std::string mode = to.mode.text();
  if (closed.empty()) return change(std::move(to), who, what, why, anyway);
  if (force && why.empty()) return fail(Errc::malformed, "mode " + mode, "--force needs a reason", "pass --why TEXT");
  if (force) return change(std::move(to), who, what + ", forced despite: " + closed, why);
  audit(who, "promotion to " + mode + " refused", closed);
  return fail(Errc::denied, "mode " + mode, "its gate is closed: " + closed,
              "wait (`wattle policy get` shows the gate), or skip the gate with --force --why TEXT");
}

Status RolloutManager::promote(bool force, const std::string& who, const std::string& why) {
  const Gate now = gate();
  if (!now.next) return fail(Errc::conflict, "promotion", "the mode is already live");
  RolloutSpec to = spec_;
  to.mode = *now.next;
  to.schedule.share = to.mode.share;
  const std::string what = "promoted: " + described(spec_, to);
  WATTLE_CHECK(enter(std::move(to), now.closed, force, who, what, why));
  if (spec_.mode.mode != Mode::shadow) events_.push_back(RolloutEvent::network_promoted);
  return {};
}

Status RolloutManager::rollback(const std::map<std::string, std::string>& arguments, const std::string& who,
                                const std::string& why) {
  const std::string to_text = argument_of(arguments, "to");
  std::optional<std::int64_t> wanted;
  if (!to_text.empty()) {
    const auto id = parse::u64(to_text);
    if (!id || *id > INT64_MAX)
      return fail(Errc::malformed, "argument to", "'" + to_text + "' is not the number of a change");
    wanted = static_cast<std::int64_t>(*id);
  }
  WATTLE_TRY(const auto found, changes_.to_go_back_to(wanted));
  if (!found)
    return fail(Errc::not_found, wanted ? "change " + to_text : "previous change", "it has no settings to return to",
                "list changes with `wattle policy get`");
  WATTLE_TRY(RolloutSpec to, parse_spec(found->standing, spec_.schedule));
  const std::string what = "rolled back to change " + std::to_string(found->id) + ": " + described(spec_, to);
  // The previous spec may have a higher mode, for example after a rollback by a monitor.
  const std::string closed = closed_to(to);
  WATTLE_CHECK(enter(std::move(to), closed, argument_of(arguments, "force") == "yes", who, what, why, true));
  events_.push_back(RolloutEvent::network_withdrawn);
  return {};
}

}  // namespace wattle::controller
