#include "sim/env/env.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "placement/decide/decide.hpp"
#include "placement/worth/outcome.hpp"

namespace wattle::sim {

Env::Env(EnvOptions options) : options_(std::move(options)) {}

void Env::begin(std::uint64_t seed, WorldObserver* observer) {
  const std::uint64_t cluster_seed = options_.cluster_seed.value_or(seed);
  world_options_ = make_world(options_.scenario, options_.measured, cluster_seed);
  WorldOptions& world = world_options_;
  for (NodeSpec& node : world.nodes) node.waiting_times = options_.waiting_times;
  world.seed = seed;
  world.settle_s = placement::times_of(options_.reward.preset).settle_s.value_or(world.settle_s);
  world_ = std::make_unique<World>(world, observer);
  arrivals_.emplace(options_.scenario, world, cluster_seed, seed);
  names_.clear();
  for (const NodeSpec& node : world.nodes) names_.push_back(node.server.name);
  decision_id_ = placed_ = 0;
  pending_s_ = 0;
  next_.clear();
  lost_.clear();
  pending_.clear();
  pending_since_s_.reset();
  world_->advance_to(2 * world.telemetry_period_s);
  ends_s_ = world_->now_s() + options_.scenario.aftermath_s;
  go_on();
}

placement::ClusterView Env::view() const { return world_->view(arrival_->pod.spec, pending_.size()); }

std::vector<placement::PodSpec> Env::next_pods() const {
  std::vector<placement::PodSpec> next;
  for (const PendingPods::Pod& each : pending_.pods()) {
    if (next.size() == options_.look_ahead) return next;
    next.push_back(each.pod.spec);
  }
  for (const Arrivals::Arrival& each : next_) {
    if (next.size() == options_.look_ahead) return next;
    next.push_back(each.pod.spec);
  }
  return next;
}

// Arrivals do not depend on events, so they are the same no matter how early they are drawn.
void Env::draw(std::size_t count) {
  while (next_.size() < count) {
    auto arrival = arrivals_->next();
    if (!arrival) return;
    next_.push_back(std::move(*arrival));
  }
}

void Env::come(Arrivals::Arrival arrival) {
  arrival_ = std::move(arrival);
  ++decision_id_;
}

bool Env::retry() {
  auto taken = pending_.take(*world_);
  if (!taken) return false;
  pending_since_s_ = taken->since_s;
  come({world_->now_s(), std::move(taken->pod), 0});
  return true;
}

bool Env::advance_to(double when_s) {
  const double until_s = std::min(when_s, pending_.next_s());
  world_->advance_to(until_s);
  return until_s == when_s;
}

void Env::go_on() {
  arrival_.reset();
  pending_since_s_.reset();
  for (;;) {
    draw(1);
    // The first telemetry arrives before the first pod.
    const double at_s = !next_.empty() ? next_.front().at_s + 2 * WorldOptions{}.telemetry_period_s : ends_s_;
    // Pods that were lost with their machine are recreated before the next one arrives.
    bool there = false;
    if (lost_.empty()) {
      if (retry()) return;
      there = advance_to(at_s);
    }
    for (SimPod& pod : world_->take_lost()) lost_.push_back(std::move(pod));
    if (next_.empty()) lost_.clear();
    if (!lost_.empty()) {
      come({world_->now_s(), std::move(lost_.front()), 0});
      lost_.pop_front();
      return;
    }
    if (there) break;
  }
  if (next_.empty()) {
    pending_s_ += pending_.waited_s(world_->now_s());
    return;
  }
  come(std::move(next_.front()));
  next_.pop_front();
  draw(options_.look_ahead);
  const std::vector<std::string> running = world_->running();
  for (std::size_t i = 0; i < arrival_->remove_oldest && i < running.size(); ++i) {
    const Status removed = world_->remove(running[i]);
    assert(removed);
    static_cast<void>(removed);
  }
}

Status Env::bind(std::size_t node, const placement::ClusterView& view) {
  assert(arrival_);
  auto outcome = placement::begin_outcome(view, arrival_->pod.spec, node, options_.reward);
  outcome.placement = placed_;
  WATTLE_CHECK(world_->place(arrival_->pod, node, decision_id_, std::move(outcome)));
  ++placed_;
  if (pending_since_s_) pending_s_ += world_->now_s() - *pending_since_s_;
  ends_s_ = world_->now_s() + options_.scenario.aftermath_s;
  go_on();
  return {};
}

void Env::turn_away() {
  assert(arrival_);
  const double now_s = world_->now_s(), since_s = pending_since_s_.value_or(now_s);
  pending_.add({std::move(arrival_->pod), 0, since_s, now_s});
  if (!pending_since_s_) ends_s_ = now_s + options_.scenario.aftermath_s;
  go_on();
}

EnvStep Env::present() {
  EnvStep step;
  for (;;) {
    for (const Settled& settled : take_settled()) {
      step.reward += placement::evaluate(options_.reward, settled.outcome).value;
      ++step.settled;
    }
    step.done = done();
    if (step.done) {
      step.observation = {};
      return step;
    }
    expect(engine_->expected(waiting().spec));
    step.observation = engine_->decide(view(), waiting().spec, nullptr, 0, unused_).observation;
    const auto& valid = step.observation.valid;
    const bool any = std::any_of(valid.begin(), valid.end(), [](auto each) { return each != 0; });
    if (any) return step;
    turn_away();
  }
}

EnvStep Env::reset(std::uint64_t seed) {
  engine_ = LiveEngine::make({"dqn", {{options_.reward, options_.mask}}}).value();
  begin(seed, engine_.get());
  return present();
}

Result<EnvStep> Env::step(std::size_t action) {
  if (!world_ || done()) return fail(Errc::conflict, "step", "the episode is over", "call reset first");
  if (action >= names_.size())
    return fail(Errc::out_of_range, "action " + std::to_string(action),
                "there are " + std::to_string(names_.size()) + " nodes");
  const placement::ClusterView seen = view();
  const std::string reason(placement::mask_reason(seen.nodes[action], arrival_->pod.spec, options_.mask));
  if (!reason.empty()) return fail(Errc::out_of_range, "action " + std::to_string(action), "is masked: " + reason);
  WATTLE_CHECK(bind(action, seen));
  return present();
}

}  // namespace wattle::sim
