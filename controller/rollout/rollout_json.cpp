// rollout_json: builds the document `policy`.

#include "common/json/value.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json effect_json(const EffectEstimate& effect) {
  return {{"blocks_treated", effect.treated},
          {"blocks_control", effect.control},
          {"blocks_unused", effect.unused},
          {"blocks_needed", kLeastBlocks},
          {"treated_j_per_core_hour", or_null(effect.treated_j_per_core_h)},
          {"control_j_per_core_hour", or_null(effect.control_j_per_core_h)},
          {"saving_ratio", or_null(effect.ratio)},
          {"saving_low", or_null(effect.low)},
          {"saving_high", or_null(effect.high)}};
}

json block_json(const SwitchbackSchedule& schedule, const Block& block) {
  return {{"number", block.number},
          {"treated", block.treated},
          {"measured", block.measured},
          {"left_s", seconds(block.left)},
          {"length_s", seconds(schedule.length)},
          {"washout_s", seconds(schedule.washout)}};
}

json unwritten_json(const ChangeLog& changes) {
  if (changes.unwritten() == 0) return nullptr;
  const std::optional<Error>& why = changes.why_unwritten();
  return {{"changes", changes.unwritten()}, {"error", why ? json(why->message()) : json(nullptr)}};
}

}  // namespace

json RolloutManager::document() const {
  json names = json::array();
  for (const placement::PolicyInfo& info : placement::policies()) names.push_back(std::string(info.name));
  json changes = json::array();
  for (auto change = changes_.recent().rbegin(); change != changes_.recent().rend(); ++change)
    changes.push_back({{"id", change->id},
                       {"at_s", change->at_s},
                       {"who", change->who},
                       {"what", change->what},
                       {"why", change->why}});
  const Gate now = gate();
  json block = nullptr;
  if (spec_.mode.mode == Mode::canary) block = block_json(spec_.schedule, block_at(spec_.schedule, clock_->wall()));
  return {{"mode", spec_.mode.text()},
          {"arm", std::string(to_string(arm().arm))},
          {"policy", spec_.policy},
          {"policies", std::move(names)},
          {"reward", reward_json(spec_.reward)},
          {"experiment",
           {{"id", experiment_id_},
            {"began_wall_ns", to_ns(spec_.schedule.began)},
            {"decisions", experiment_.decisions()}}},
          {"block", std::move(block)},
          {"saving", effect_json(effect())},
          {"regression",
           {{"ready", regression().ready()},
            {"control_rewards", regression().controls()},
            {"control_rewards_needed", regression().options().least},
            {"level", regression().level()},
            {"limit", regression().options().limit},
            {"judged", regression().judged()}}},
          {"promotion",
           {{"to", now.next ? json(now.next->text()) : json(nullptr)},
            {"open", now.next.has_value() && now.closed.empty()},
            {"closed_by", now.closed.empty() ? json(nullptr) : json(now.closed)}}},
          {"durable", changes_.durable()},
          {"unwritten", unwritten_json(changes_)},
          {"changes", std::move(changes)}};
}

}  // namespace wattle::controller
