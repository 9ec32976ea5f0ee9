#include "models/torch/batch.hpp"

#include <algorithm>
#include <cmath>

#include "models/frozen/layout.hpp"

namespace wattle::models {

namespace {

bool finite(std::span<const float> values) {
  // 0 x finite = 0, while 0 x infinity and 0 x NaN are NaN: one pass without a branch.
  float sum = 0;
  for (const float v : values) sum += v * 0.0F;
  return sum == 0.0F;
}

// What is wrong with it, or nullptr.
const char* fault(const Observation& o) {
  if (o.node.size() != o.nodes * kNodeFeatures) return "node features do not match the number of nodes";
  if (o.prior.size() != o.nodes) return "priors do not match the number of nodes";
  if (o.valid.size() != o.nodes) return "the mask does not match the number of nodes";
  if (std::none_of(o.valid.begin(), o.valid.end(), [](std::uint8_t v) { return v != 0; })) return "no node is valid";
  if (!finite(o.pod) || !finite(o.context)) return "a pod or context feature is not finite";
  for (std::size_t i = 0; i < o.nodes; ++i)
    if (o.valid[i] != 0 &&
        (!std::isfinite(o.prior[i]) || !finite(std::span(o.node).subspan(i * kNodeFeatures, kNodeFeatures))))
      return "a feature or prior of a valid node is not finite";
  return nullptr;
}

Status check(const Transition& t, std::size_t place) {
  const auto bad = [&](std::string what) {
    return fail(Errc::malformed, "transition " + std::to_string(place) + " of the batch", std::move(what));
  };
  if (const char* what = fault(t.state)) return bad(std::string("state: ") + what);
  if (t.action >= t.state.nodes || t.state.valid[t.action] == 0)
    return bad("action " + std::to_string(t.action) + " is not a valid node of the state");
  if (!std::isfinite(t.reward)) return bad("the reward is not finite");
  if (!(t.discount >= 0.0F && t.discount <= 1.0F)) return bad("the discount is not within 0..1");
  if (t.discount > 0.0F)
    if (const char* what = fault(t.next)) return bad(std::string("next: ") + what + " (an end has discount 0)");
  return {};
}

}  // namespace

Status Batch::assemble(std::span<const Transition* const> transitions) {
  if (transitions.empty()) return fail(Errc::out_of_range, "batch", "is empty", "give at least one transition");
  size = transitions.size();
  width = 0;
  for (std::size_t b = 0; b < size; ++b) {
    WATTLE_CHECK(check(*transitions[b], b));
    const auto& valid = transitions[b]->state.valid;
    const auto count = std::count_if(valid.begin(), valid.end(), [](std::uint8_t v) { return v != 0; });
    width = std::max(width, static_cast<std::size_t>(count));
  }
  node.resize(size * width * kNodeFeatures);
  ask.resize(size * kAskFeatures);
  share.resize(size * width);
  action.resize(size);
  prior.resize(size);
  for (std::size_t b = 0; b < size; ++b) {
    const Transition& t = *transitions[b];
    const Observation& state = t.state;
    float* row = &node[b * width * kNodeFeatures];
    std::size_t count = 0;
    for (std::size_t i = 0; i < state.nodes; ++i) {
      if (state.valid[i] == 0) continue;
      if (i == t.action) action[b] = static_cast<std::int64_t>(count);
      row = std::copy_n(&state.node[i * kNodeFeatures], kNodeFeatures, row);
      ++count;
    }
    const float* first = &node[b * width * kNodeFeatures];
    for (std::size_t i = count; i < width; ++i) row = std::copy_n(first, kNodeFeatures, row);
    float* to_share = &share[b * width];
    std::fill_n(std::fill_n(to_share, count, 1.0F / static_cast<float>(count)), width - count, 0.0F);
    std::copy(state.context.begin(), state.context.end(),
              std::copy(state.pod.begin(), state.pod.end(), &ask[b * kAskFeatures]));
    prior[b] = state.prior[t.action];
  }
  return {};
}

}  // namespace wattle::models
