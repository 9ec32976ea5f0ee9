#include "controller/trainer/make_network.hpp"
#include "placement/learn/tabular.hpp"

namespace wattle::controller {

Result<std::unique_ptr<models::QTrainer>> make_network(const LearnConfig& config,
                                                       const std::optional<models::Weights>&) {
  if (config.tabular) return placement::make_tabular_trainer();
  return fail(Errc::unsupported, "learning", "this build has no libtorch",
              "set learn.enabled: false, or build with WATTLE_TORCH=ON");
}

Result<std::unique_ptr<models::PolicyTrainer>> make_provisioning_network(std::uint64_t) {
  return fail(Errc::unsupported, "learning", "this build has no libtorch",
              "set learn.enabled: false, or build with WATTLE_TORCH=ON");
}

}  // namespace wattle::controller
