// rollout_spec: the spec in force (mode, policy and reward) and the experiment that began with it.
// Text     JSON, as kept in the control file and shown by the API
// Errors   malformed or out_of_range, naming the argument
// Threads  values, pure functions
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/result.hpp"
#include "controller/rollout/switchback.hpp"
#include "placement/cluster/budget.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::controller {

// off: neutral answers without decisions. shadow: decides and records, answers neutral. canary: live in some blocks of
// time, shadow in the others. live: real scores.
enum class Mode { off, shadow, canary, live };
std::string_view to_string(Mode mode);

struct ModeSetting {
  Mode mode = Mode::shadow;
  double share = 0.1;  // of blocks that are treated, in mode canary
  ModeSetting(Mode its_mode = Mode::shadow, double its_share = 0.1) : mode(its_mode), share(its_share) {}
  std::string text() const;  // "canary:10%"
  bool operator==(const ModeSetting&) const = default;
};
// "off", "shadow", "live", "canary" (10%), "canary:25%" (5% to 95%).
Result<ModeSetting> parse_mode(std::string_view text);

struct RolloutSpec {
  ModeSetting mode;
  std::string policy = "dqn";
  placement::RewardConfig reward;
  SwitchbackSchedule schedule;  // its share is the mode's
  placement::BudgetLimits limits;
};

// Role of an ask in the experiment at a given time.
enum class Arm { off, shadow, control, treated, live };
std::string_view to_string(Arm arm);
inline bool acts(Arm arm) { return arm == Arm::treated || arm == Arm::live; }
struct ArmNow {
  Arm arm = Arm::off;
  bool measured = false;  // not in the washout of a block
};
ArmNow arm_at(const RolloutSpec& spec, WallTime now);

SortedJson reward_json(const placement::RewardConfig& reward);
// Policy and reward, to which gates, comparisons and the calibration apply.
std::string ranking_of(const RolloutSpec& spec);
// Identifies a reward; values judged by one reward are not comparable with those of another.
std::string reward_id(const placement::RewardConfig& reward);
std::string spec_text(const RolloutSpec& spec);
// Parses spec_text(); block lengths are the configuration's.
Result<RolloutSpec> parse_spec(std::string_view text, const SwitchbackSchedule& lengths);

// Arguments of a change: mode, policy, reward, load, expression, reference_w, horizon_s, cpu_wait, late, weight.<name>.
// Others are ignored.
Result<RolloutSpec> with_changes(RolloutSpec spec, const std::map<std::string, std::string>& arguments);

// Lists all values that differ, old and new: "mode shadow -> live, reward weighted -> ee, weight.energy 1 -> 3,
// cpu_wait default -> 2%"; or "nothing changed".
std::string described(const RolloutSpec& from, const RolloutSpec& to);

}  // namespace wattle::controller
