#include "models/frozen/frozen_network.hpp"

#include "models/frozen/deepsets.hpp"
#include "models/frozen/layout.hpp"

namespace wattle::models {

FrozenNetwork::FrozenNetwork(AlignedFloats flat, std::uint64_t step, bool on_prior)
    : flat_(std::move(flat)), step_(step), on_prior_(on_prior), kernels_(best_kernels()) {}

Result<std::shared_ptr<const FrozenNetwork>> FrozenNetwork::from_weights(const Weights& weights, std::uint64_t step,
                                                                         const std::string& subject, bool on_prior) {
  WATTLE_TRY(AlignedFloats flat, flatten(weights, subject));
  return std::shared_ptr<const FrozenNetwork>(new FrozenNetwork(std::move(flat), step, on_prior));
}

void FrozenNetwork::residual(const Observation& observation, std::span<float> out) const {
  evaluate(kernels_, flat_, observation, out);
}

}  // namespace wattle::models
