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

// Describes the fault, or returns nullptr.
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

Status check(const PolicyExample& e, std::size_t place) {
  const auto bad = [&](const std::string& what) {
    return fail(Errc::malformed, "example " + std::to_string(place) + " of the batch", what);
  };
  if (const char* what = fault(e.state)) return bad(what);
  if (e.target.size() != e.state.nodes || e.tried.size() != e.state.nodes)
    return bad("targets do not match the number of nodes");
  if (!e.cost.empty() && e.cost.size() != e.state.nodes) return bad("costs do not match the number of nodes");
  double sum = 0;
  for (std::size_t i = 0; i < e.state.nodes; ++i) {
    if (e.tried[i] != 0 && e.state.valid[i] == 0)
      return bad("node " + std::to_string(i) + " was tried but is not valid");
    if (!(e.target[i] >= 0.0F && (e.target[i] <= 0.0F || e.tried[i] != 0)))
      return bad("the target of node " + std::to_string(i) + " is not a probability of a tried node");
    if (!e.cost.empty() && e.tried[i] != 0 && !(std::isfinite(e.cost[i]) && e.cost[i] >= 0.0F))
      return bad("the cost of node " + std::to_string(i) + " is not a number of at least 0");
    sum += static_cast<double>(e.target[i]);
  }
  if (!(std::abs(sum - 1) < 1e-3)) return bad("targets sum to " + std::to_string(sum) + ", not 1");
  return {};
}

std::size_t valid_nodes(const Observation& state) {
  return static_cast<std::size_t>(
      std::count_if(state.valid.begin(), state.valid.end(), [](std::uint8_t v) { return v != 0; }));
}

}  // namespace

void Batch::lay_out(const Observation& state, std::size_t b) {
  float* row = &node[b * width * kNodeFeatures];
  const float* first = row;
  std::size_t count = 0;
  for (std::size_t i = 0; i < state.nodes; ++i) {
    if (state.valid[i] == 0) continue;
    row = std::copy_n(&state.node[i * kNodeFeatures], kNodeFeatures, row);
    ++count;
  }
  for (std::size_t i = count; i < width; ++i) row = std::copy_n(first, kNodeFeatures, row);
  float* to_share = &share[b * width];
  std::fill_n(std::fill_n(to_share, count, 1.0F / static_cast<float>(count)), width - count, 0.0F);
  std::copy(state.context.begin(), state.context.end(),
            std::copy(state.pod.begin(), state.pod.end(), &ask[b * kAskFeatures]));
}

Status Batch::assemble(std::span<const Transition* const> transitions) {
  if (transitions.empty()) return fail(Errc::out_of_range, "batch", "is empty", "pass at least one transition");
  size = transitions.size();
  width = 0;
  for (std::size_t b = 0; b < size; ++b) {
    WATTLE_CHECK(check(*transitions[b], b));
    width = std::max(width, valid_nodes(transitions[b]->state));
  }
  node.resize(size * width * kNodeFeatures);
  ask.resize(size * kAskFeatures);
  share.resize(size * width);
  action.resize(size);
  prior.resize(size);
  for (std::size_t b = 0; b < size; ++b) {
    const Transition& t = *transitions[b];
    lay_out(t.state, b);
    action[b] = std::count_if(t.state.valid.begin(), t.state.valid.begin() + static_cast<std::ptrdiff_t>(t.action),
                              [](std::uint8_t v) { return v != 0; });
    prior[b] = t.state.prior[t.action];
  }
  return {};
}

Status Batch::assemble(std::span<const PolicyExample* const> examples) {
  if (examples.empty()) return fail(Errc::out_of_range, "batch", "is empty", "pass at least one example");
  size = examples.size();
  width = 0;
  for (std::size_t b = 0; b < size; ++b) {
    WATTLE_CHECK(check(*examples[b], b));
    width = std::max(width, valid_nodes(examples[b]->state));
  }
  node.resize(size * width * kNodeFeatures);
  ask.resize(size * kAskFeatures);
  share.resize(size * width);
  prior.assign(size * width, 0.0F);
  target.assign(size * width, 0.0F);
  cost.assign(size * width, 0.0F);
  barred.assign(size * width, -1e9F);
  for (std::size_t b = 0; b < size; ++b) {
    const PolicyExample& e = *examples[b];
    lay_out(e.state, b);
    std::size_t at = b * width;
    for (std::size_t i = 0; i < e.state.nodes; ++i) {
      if (e.state.valid[i] == 0) continue;
      prior[at] = e.state.prior[i];
      target[at] = e.target[i];
      if (!e.cost.empty() && e.tried[i] != 0) cost[at] = e.cost[i];
      barred[at] = e.tried[i] != 0 ? 0.0F : -1e9F;
      ++at;
    }
  }
  return {};
}

}  // namespace wattle::models
