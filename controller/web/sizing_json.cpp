#include "controller/web/sizing_json.hpp"

#include <array>
#include <map>

#include "controller/web/cluster_json.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;
using placement::SizingState;

constexpr std::array kSizingStates{SizingState::watched, SizingState::lowering, SizingState::held,
                                   SizingState::restoring, SizingState::waiting};

std::map<SizingState, std::size_t> owners_by_state(const SizingLadder& sizing) {
  std::map<SizingState, std::size_t> states;
  for (const SizingState state : kSizingStates) states[state] = 0;
  for (const auto& [name, owner] : sizing.owners())
    if (!owner.pods.empty()) ++states[owner.state.state];
  return states;
}

json sized_json(const placement::Resources& size) {
  return {{"cpu_cores", size.cpu_cores}, {"memory_bytes", size.memory_bytes}};
}

json harm_shares_json(const placement::HarmShares& shares) {
  return {{"throttled_ratio", shares[0]}, {"cpu_waited_ratio", shares[1]}, {"memory_waited_ratio", shares[2]}};
}

// Of the pods before and since the first step.
json sizing_measured_json(const SizedOwner& owner) {
  if (owner.state.lowered.empty()) return nullptr;
  return {{"since_s", owner.state.changed_s},
          {"before", harm_shares_json(owner.state.before.hour)},
          {"now", harm_shares_json(owner.harm.slow())},
          {"kills_before", owner.state.before.kills},
          {"kills", owner.harm.kills_since(owner.state.changed_s)}};
}

json sizing_shadow_json(const placement::ShadowUse& shadow) {
  if (shadow.since_s == 0) return nullptr;
  return {
      {"since_s", shadow.since_s}, {"over_cpu_ratio", shadow.over_cpu_ratio()}, {"over_memory", shadow.over_memory}};
}

json sizing_order_json(const placement::SizingOrder& order) {
  json object{{"kind", std::string(to_string(order.kind))}};
  if (order.kind != placement::SizingOrderKind::lower) return object;
  object["cpu_cores"] = order.target.cpu_cores;
  object["memory_bytes"] = order.target.memory_bytes;
  object["pods"] = order.pods;
  return object;
}

}  // namespace

json sizing_json(const SizingLadder& sizing) {
  json owners = json::object();
  for (const auto& [state, count] : owners_by_state(sizing)) owners[std::string(to_string(state))] = count;
  const LadderMode& mode = sizing.mode();
  return {{"mode", mode.mode.text()},      {"since_s", mode.since_s > 0 ? json(mode.since_s) : json(nullptr)},
          {"who", text_or_null(mode.who)}, {"why", text_or_null(mode.why)},
          {"may_set", sizing.may_set()},   {"problem", text_or_null(sizing.problem())},
          {"owners", std::move(owners)},   {"alarms", sizing.alarms()}};
}

json owner_sizing_json(const SizingLadder& sizing, const std::string& name) {
  const SizedOwner* owner = sizing.owner(name);
  if (owner == nullptr) return nullptr;
  const placement::OwnerSizing& state = owner->state;
  return {{"state", std::string(to_string(state.state))},
          {"since_s", state.since_s > 0 ? json(state.since_s) : json(nullptr)},
          {"until_s", state.state == SizingState::waiting ? json(state.until_s) : json(nullptr)},
          {"why", text_or_null(state.why)},
          {"waits", text_or_null(owner->waits)},
          {"order", sizing_order_json(order_of(state))},
          {"pods_lowered", state.lowered.size()},
          {"original", state.lowered.empty() ? json(nullptr) : sized_json(state.original)},
          {"target", state.lowered.empty() ? json(nullptr) : sized_json(state.target)},
          {"goal", owner->goal ? sized_json(*owner->goal) : json(nullptr)},
          {"steps", state.steps},
          {"rollbacks", state.rollbacks},
          {"rolled_back_s", state.rolled_back_s > 0 ? json(state.rolled_back_s) : json(nullptr)},
          {"measured", sizing_measured_json(*owner)},
          {"shadow", sizing_shadow_json(state.shadow)}};
}

void add_sizing(Families& families, const SizingLadder& sizing) {
  if (sizing.mode().mode.mode == Mode::off) return;
  prometheus::MetricFamily& family = families.family("wattle_controller_right_size_owners",
                                                     "Owners that permit lower requests, by state of their right size.",
                                                     prometheus::MetricType::Gauge);
  for (const auto& [state, count] : owners_by_state(sizing))
    Families::add(family, {{"state", std::string(to_string(state))}}, static_cast<double>(count));
}

}  // namespace wattle::controller
