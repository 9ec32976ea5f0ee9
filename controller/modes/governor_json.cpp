// governor_json: the document `policy`.
#include <nlohmann/json.hpp>

#include "controller/modes/governor.hpp"
#include "placement/policies/registry.hpp"

namespace wattle::controller {

using nlohmann::json;

namespace {

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json saving_json(const Saving& saving) {
  return {{"blocks_treated", saving.treated},
          {"blocks_control", saving.control},
          {"blocks_dropped", saving.dropped},
          {"blocks_needed", kLeastBlocks},
          {"treated_j_per_core_hour", or_null(saving.treated_j_per_core_h)},
          {"control_j_per_core_hour", or_null(saving.control_j_per_core_h)},
          {"saving_ratio", or_null(saving.ratio)},
          {"saving_low", or_null(saving.low)},
          {"saving_high", or_null(saving.high)}};
}

json block_json(const BlockPlan& plan, const Block& block) {
  return {{"number", block.number},        {"treated", block.treated},         {"measured", block.measured},
          {"left_s", seconds(block.left)}, {"length_s", seconds(plan.length)}, {"dropped_s", seconds(plan.dropped)}};
}

}  // namespace

json Governor::document() const {
  json names = json::array();
  for (const placement::PolicyInfo& info : placement::policies()) names.push_back(std::string(info.name));
  json changes = json::array();
  for (auto change = recent_.rbegin(); change != recent_.rend(); ++change)
    changes.push_back({{"id", change->id},
                       {"at_s", change->at_s},
                       {"who", change->who},
                       {"what", change->what},
                       {"why", change->why}});
  const Gate now = gate();
  json block = nullptr;
  if (standing_.mode.mode == Mode::canary) block = block_json(standing_.plan, block_at(standing_.plan, clock_->wall()));
  return {{"mode", standing_.mode.text()},
          {"arm", std::string(to_string(arm().arm))},
          {"policy", standing_.policy},
          {"policies", std::move(names)},
          {"reward", reward_json(standing_.reward)},
          {"experiment",
           {{"id", experiment_}, {"began_wall_ns", to_ns(standing_.plan.began)}, {"decisions", figures_.decisions}}},
          {"block", std::move(block)},
          {"saving", saving_json(saving())},
          {"guard",
           {{"ready", guard_.ready()},
            {"control_rewards", guard_.controls()},
            {"control_rewards_needed", guard_.options().least},
            {"level", guard_.level()},
            {"limit", guard_.options().limit},
            {"judged", guard_.judged()}}},
          {"promotion",
           {{"to", now.next ? json(now.next->text()) : json(nullptr)},
            {"open", now.next.has_value() && now.closed.empty()},
            {"closed_by", now.closed.empty() ? json(nullptr) : json(now.closed)}}},
          {"durable", file_.has_value()},
          {"changes", std::move(changes)}};
}

}  // namespace wattle::controller
