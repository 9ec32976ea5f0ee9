#include "provision/requests/right_size.hpp"

#include <algorithm>
#include <utility>

#include "common/formatted.hpp"

namespace wattle::placement {
namespace {

constexpr double kMostPause_s = 86'400, kOrderedHour_s = 3600;
constexpr double kSameSizeRatio = 0.01;  // of a request, by which an API server's rounding may differ
constexpr double kSameSizeCores = 0.0015, kSameSizeBytes = 1.5 * (1 << 20);
constexpr double kNeedMoreRatio = 0.02;  // by which the rule may suggest more before the requests are restored
constexpr double kBytesPerMiBShown = 1 << 20;

bool is_at_most(const Resources& has, const Resources& most) {
  return has.cpu_cores <= most.cpu_cores + std::max(kSameSizeCores, kSameSizeRatio * most.cpu_cores) &&
         has.memory_bytes <= most.memory_bytes + std::max(kSameSizeBytes, kSameSizeRatio * most.memory_bytes);
}

std::string size_text(const Resources& size) {
  return formatted("%.3g cores and %.4g MiB", size.cpu_cores, size.memory_bytes / kBytesPerMiBShown);
}

void enter_state(OwnerSizing& state, SizingState next, double now_s) {
  state.state = next;
  state.since_s = now_s;
}

// A request after one step towards the goal; the same if the change would be too small.
double stepped(double has, double goal, double step_ratio, double dead_ratio) {
  const double next = std::max(goal, has * (1 - step_ratio));
  return has - next < dead_ratio * has ? has : next;
}

std::optional<Resources> next_target(const OwnerSizing& state, const OwnerFacts& facts, const SizingOptions& options) {
  const auto goal = goal_of(state, facts);
  if (!goal) return std::nullopt;
  const Resources has = state.lowered.empty() ? facts.original : state.target;
  const Resources next{stepped(has.cpu_cores, goal->cpu_cores, options.step_ratio, options.dead_ratio),
                       stepped(has.memory_bytes, goal->memory_bytes, options.step_ratio, options.memory_dead_ratio)};
  if (next.cpu_cores == has.cpu_cores && next.memory_bytes == has.memory_bytes) return std::nullopt;
  return next;
}

// Returns why the pods would not have stayed within the smaller request for long enough; empty: they would have.
std::string not_kept_to(const ShadowUse& shadow, const OwnerFacts& facts, double now_s, const SizingOptions& options) {
  if (shadow.since_s == 0 || shadow.seconds <= 0) return "no telemetry of its pods yet";
  if (now_s - shadow.since_s < options.shadow_s) return "observed against the smaller request for less than an hour";
  if (shadow.over_memory_at_s > 0 && now_s - shadow.over_memory_at_s < options.over_memory_s)
    return "a pod needed more memory than the smaller request within the last six hours";
  if (facts.limits_follow && shadow.over_cpu_ratio() > options.over_cpu_ratio)
    return "its pods would have been throttled: their CPU limit falls with the request";
  return {};
}

std::size_t free_pods(const OwnerSizing& state, const OwnerFacts& facts, double now_s, const SizingOptions& options) {
  const std::size_t now = facts.others_in_flight + pods_in_flight(state);
  const std::size_t hour = facts.others_ordered + pods_ordered(state, now_s);
  return std::min(options.pods_at_a_time - std::min(now, options.pods_at_a_time),
                  options.pods_per_hour - std::min(hour, options.pods_per_hour));
}

class Stepper {
 public:
  Stepper(OwnerSizing state, const OwnerFacts& facts, double now_s, const SizingOptions& options)
      : facts_(facts), now_s_(now_s), options_(options) {
    step_.state = std::move(state);
  }

  SizingStep run() {
    OwnerSizing& state = step_.state;
    // A clock that was set back restarts the times.
    if (now_s_ < state.since_s) state.since_s = now_s_;
    if (state.state == SizingState::waiting && state.until_s > now_s_ + kMostPause_s)
      state.until_s = now_s_ + kMostPause_s;
    std::erase_if(state.ordered_s, [&](double at_s) { return now_s_ - at_s >= kOrderedHour_s || at_s > now_s_; });
    if (!facts_.complete) return std::move(step_);
    look_at_pods();
    if (state.state == SizingState::waiting && now_s_ >= state.until_s) {
      state.why.clear();
      enter_state(state, SizingState::watched, now_s_);
    }
    // Not in the step that ended a restoration or a pause, so that a repeated step changes nothing.
    if (state.state == SizingState::watched && now_s_ > state.since_s) begin();
    if (state.state == SizingState::lowering || state.state == SizingState::held) go_on();
    if (state.state == SizingState::restoring) restore();
    return std::move(step_);
  }

 private:
  // Drops pods that no longer exist, and records which have their target.
  void look_at_pods() {
    OwnerSizing& state = step_.state;
    std::map<std::string, const SizedPod*> pods;
    for (const SizedPod& pod : facts_.pods) pods[pod.uid] = &pod;
    for (auto at = state.lowered.begin(); at != state.lowered.end();) {
      const auto found = pods.find(at->first);
      if (found == pods.end()) {
        at = state.lowered.erase(at);
        continue;
      }
      at->second.applied = found->second->answer == PodAnswer::none && is_at_most(found->second->request, state.target);
      ++at;
    }
  }

  void begin() {
    OwnerSizing& state = step_.state;
    if (!waits_for(state, facts_, now_s_, options_).empty()) return;
    const auto next = next_target(state, facts_, options_);
    if (!next) return;
    const bool ready =
        std::any_of(facts_.pods.begin(), facts_.pods.end(), [&](const SizedPod& pod) { return wants(pod, *next); });
    if (!ready) return;
    state.original = facts_.original;
    state.before = facts_.harm != nullptr ? facts_.harm->before(now_s_) : HarmBefore();
    state.changed_s = now_s_;
    state.why.clear();
    lower_to(*next);
  }

  void lower_to(const Resources& next) {
    OwnerSizing& state = step_.state;
    const Resources has = state.lowered.empty() ? state.original : state.target;
    state.target = next;
    ++state.steps;
    enter_state(state, SizingState::lowering, now_s_);
    for (auto& [uid, pod] : state.lowered) pod.applied = false;
    note("requests are lowered from " + size_text(has) + " to " + size_text(next) + " per pod", "");
  }

  static bool wants(const SizedPod& pod, const Resources& target) {
    return !pod.young && pod.answer == PodAnswer::none && !is_at_most(pod.request, target);
  }

  void go_on() {
    OwnerSizing& state = step_.state;
    if (const std::string why = harm(); !why.empty()) {
      ++state.rollbacks;
      state.rolled_back_s = now_s_;
      return roll_back(why, options_.excluded_s, true);
    }
    if (!facts_.withdrawn.empty()) return roll_back(facts_.withdrawn, 0, false);
    if (const std::string why = failure(); !why.empty()) {
      const double pause_s =
          std::min(options_.longest_retry_s,
                   options_.retry_s * std::exp2(std::min<double>(static_cast<double>(state.tries), 10)));
      ++state.tries;
      return roll_back(why, pause_s, false);
    }
    if (needs_more()) return roll_back("the pods need more than was set", options_.need_pause_s, false);
    if (state.state == SizingState::held) next_step();
    if (state.state == SizingState::lowering) order_pods();
  }

  std::string harm() const {
    const OwnerSizing& state = step_.state;
    if (facts_.harm == nullptr || state.lowered.empty()) return {};
    return harm_since(*facts_.harm, state.before, facts_.control, state.changed_s, now_s_);
  }

  std::string failure() const {
    const OwnerSizing& state = step_.state;
    if (!facts_.refused.empty()) return facts_.refused;
    for (const SizedPod& pod : facts_.pods) {
      const auto found = state.lowered.find(pod.uid);
      if (found == state.lowered.end() || found->second.applied) continue;
      const std::string said = pod.message.empty() ? "the kubelet gives no reason" : pod.message;
      if (pod.answer == PodAnswer::failing) return "the kubelet failed to resize a pod: " + said;
      if (pod.answer == PodAnswer::infeasible) return "the kubelet can never provide the request (Infeasible): " + said;
      const bool ordered = found->second.at_s >= state.since_s;
      if (!ordered || now_s_ - found->second.at_s < options_.patience_s) continue;
      if (pod.answer == PodAnswer::deferred) return "the kubelet has no room for the request (Deferred): " + said;
      return "a pod did not get its request within " + std::to_string(static_cast<long long>(options_.patience_s)) +
             " s (wattle provision why)";
    }
    return {};
  }

  bool needs_more() const {
    const OwnerSizing& state = step_.state;
    const auto more = [](std::optional<double> wanted, double target, double original) {
      return wanted && target<original&& * wanted> target * (1 + kNeedMoreRatio);
    };
    return more(facts_.cpu_cores, state.target.cpu_cores, state.original.cpu_cores) ||
           more(facts_.memory_bytes, state.target.memory_bytes, state.original.memory_bytes) ||
           more(facts_.needed_bytes, state.target.memory_bytes, state.original.memory_bytes);
  }

  void roll_back(const std::string& why, double pause_s, bool alarm) {
    OwnerSizing& state = step_.state;
    state.why = why;
    state.until_s = now_s_ + pause_s;
    state.late = false;
    enter_state(state, SizingState::restoring, now_s_);
    note("the original requests are restored", why, alarm);
  }

  void next_step() {
    OwnerSizing& state = step_.state;
    const bool behind = std::any_of(facts_.pods.begin(), facts_.pods.end(),
                                    [&](const SizedPod& pod) { return wants(pod, state.target); });
    // Younger pods get the same target.
    if (behind && facts_.barred.empty() && free() > 0) return enter_state(state, SizingState::lowering, now_s_);
    if (now_s_ - state.since_s < options_.settle_s) return;
    state.tries = 0;
    if (!facts_.barred.empty() || !facts_.turn || free() == 0) return;
    if (const auto next = next_target(state, facts_, options_)) lower_to(*next);
  }

  // Orders as many pods as are free, and ends the step once all have the target.
  void order_pods() {
    OwnerSizing& state = step_.state;
    std::size_t room = facts_.barred.empty() ? free() : 0;
    bool left = false;
    for (const SizedPod& pod : facts_.pods) {
      const auto found = state.lowered.find(pod.uid);
      const bool ordered = found != state.lowered.end() && found->second.at_s >= state.since_s;
      if (ordered) {
        left = left || !found->second.applied;
        continue;
      }
      if (!wants(pod, state.target)) continue;
      left = true;
      if (room == 0) continue;
      --room;
      if (found == state.lowered.end())
        state.lowered[pod.uid] = {pod.request, now_s_, false};
      else
        found->second.at_s = now_s_;
      state.ordered_s.push_back(now_s_);
    }
    if (left) return;
    if (state.lowered.empty()) {  // its pods have left
      enter_state(state, SizingState::watched, now_s_);
      return;
    }
    enter_state(state, SizingState::held, now_s_);
    note("the pods have " + size_text(state.target), "");
  }

  void restore() {
    OwnerSizing& state = step_.state;
    bool done = true;
    std::string said;
    for (const SizedPod& pod : facts_.pods) {
      const auto found = state.lowered.find(pod.uid);
      if (found == state.lowered.end()) continue;
      const bool back = is_at_most(found->second.before, pod.request) && pod.answer == PodAnswer::none;
      done = done && back;
      if (!back && !pod.message.empty()) said = pod.message;
    }
    if (done || facts_.restored) {
      note("the original requests are in force again", state.why);
      state.lowered.clear();
      state.late = false;
      // A pause begins once the requests are restored.
      if (state.until_s > state.since_s) state.until_s += now_s_ - state.since_s;
      enter_state(state, now_s_ < state.until_s ? SizingState::waiting : SizingState::watched, now_s_);
      if (state.state == SizingState::watched) state.why.clear();
      return;
    }
    if (state.late || now_s_ - state.since_s < options_.restore_late_s) return;
    state.late = true;
    note("the original requests are not in force yet",
         said.empty() ? "no `wattle provision set --follow` has restored them" : said, true);
  }

  std::size_t free() const { return free_pods(step_.state, facts_, now_s_, options_); }
  void note(std::string what, std::string why, bool alarm = false) {
    step_.notes.push_back({std::move(what), std::move(why), alarm});
  }

  SizingStep step_;
  const OwnerFacts& facts_;
  double now_s_;
  const SizingOptions& options_;
};

}  // namespace

std::optional<Resources> goal_of(const OwnerSizing& state, const OwnerFacts& facts) {
  if (!facts.cpu_cores && !facts.memory_bytes) return std::nullopt;
  const Resources original = state.lowered.empty() ? facts.original : state.original;
  const auto bounded = [](std::optional<double> wanted, double lasting, double had) {
    return wanted ? std::min(had, std::max(*wanted, lasting)) : had;
  };
  return Resources{bounded(facts.cpu_cores, facts.lasting.cpu_cores, original.cpu_cores),
                   bounded(facts.memory_bytes, facts.lasting.memory_bytes, original.memory_bytes)};
}

std::string waits_for(const OwnerSizing& state, const OwnerFacts& facts, double now_s, const SizingOptions& options) {
  for (const std::string* why : {&facts.withdrawn, &facts.barred, &facts.refused})
    if (!why->empty()) return *why;
  if (state.state == SizingState::waiting) return state.why;
  if (facts.pods.empty()) return "it has no pods";
  if (facts.pods.size() > options.most_pods) return "it has more than " + std::to_string(options.most_pods) + " pods";
  if (!goal_of(state, facts)) return "not enough telemetry for a smaller suggestion";
  if (!next_target(state, facts, options)) return "its requests fit its need";
  if (state.lowered.empty())
    if (std::string why = not_kept_to(state.shadow, facts, now_s, options); !why.empty()) return why;
  if (!facts.turn) return "other owners are being changed";
  if (free_pods(state, facts, now_s, options) == 0)
    return "the number of pods that are changed at a time or in an hour is reached";
  return {};
}

SizingStep step(OwnerSizing state, const OwnerFacts& facts, double now_s, const SizingOptions& options) {
  return Stepper(std::move(state), facts, now_s, options).run();
}

}  // namespace wattle::placement
