#include "controller/trainer/trusted_model.hpp"

#include <string>
#include <utility>

#include "models/frozen/pretrained.hpp"
#include "placement/learn/tabular.hpp"

namespace wattle::controller {

void TrustedModel::trust(const models::Weights& weights, const NetworkOrigin& origin, placement::Preset preset,
                         bool chosen) {
  auto frozen = placement::network_of(weights, learner_.steps(), "network " + origin.from, origin.on_prior);
  if (const Status trusted = anchor_.trust(weights); !trusted || !frozen) {
    log_.error("anchor.disabled", "learning is not anchored to the trusted network",
               {{"network", origin.from}, {"error", !trusted ? trusted.error() : frozen.error()}});
    return;
  }
  weights_ = weights;
  origin_ = origin;
  chosen_ = chosen;
  slot_.trust(std::move(*frozen), {models::network_digest(weights), origin.from,
                                   std::string(placement::to_string(preset)), origin.from, origin.certificate});
}

void TrustedModel::release() {
  anchor_.release();
  weights_.clear();
  chosen_ = false;
  slot_.trust(nullptr, {});
}

std::optional<models::TrustedNetwork> TrustedModel::described() const {
  if (!chosen_) return std::nullopt;
  return models::TrustedNetwork{origin_.from, origin_.on_prior, origin_.certificate};
}

}  // namespace wattle::controller
