#include "models/frozen/policy_anchor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace wattle::models {

std::vector<PolicyExample> policy_anchor(const QNetwork& anchor, std::span<const Transition> batch,
                                         double temperature) {
  std::vector<PolicyExample> examples;
  std::vector<float> q;
  for (const Transition& each : batch) {
    const Observation& state = each.state;
    PolicyExample example{state, std::vector<float>(state.nodes, 0.0F), state.valid, {}};
    q.assign(state.nodes, 0.0F);
    anchor.residual(state, q);
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i)
      if (state.valid[i] != 0) highest = std::max(highest, static_cast<double>(q[i] += state.prior[i]));
    for (std::size_t i = 0; i < q.size(); ++i) {
      if (state.valid[i] == 0) continue;
      const double likely = std::exp((static_cast<double>(q[i]) - highest) / temperature);
      example.target[i] = static_cast<float>(likely);
      sum += likely;
    }
    if (!(sum > 0)) continue;
    for (float& target : example.target) target /= static_cast<float>(sum);
    examples.push_back(std::move(example));
  }
  return examples;
}

}  // namespace wattle::models
