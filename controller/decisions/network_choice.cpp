#include "controller/decisions/network_choice.hpp"

#include <cmath>
#include <utility>

namespace wattle::controller {

NetworkChoice::InUse NetworkChoice::in_use() const {
  ServingModel::Serving serving = networks_.serving();
  const bool learned = fits(serving.network, serving.version);
  const bool by_baseline = engine_.measured() && engine_.trials().serves() != placement::Candidate::learned;
  if (fits(serving.trusted, serving.trusted_version) && (by_baseline || !learned))
    return {std::move(serving.trusted), std::move(serving.trusted_version), false};
  if (!learned) return {};
  return {std::move(serving.network), std::move(serving.version), true};
}

NetworkChoice::Present NetworkChoice::present() const {
  const ServingModel::Serving serving = networks_.serving();
  const bool baseline = fits(serving.trusted, serving.trusted_version);
  const bool same = baseline && serving.version.sha256 == serving.trusted_version.sha256;
  return {baseline, fits(serving.network, serving.version) && !same};
}

void NetworkChoice::offer() {
  const Present present = this->present();
  const bool active = engine_.trials().active();
  engine_.trials().favour_baseline(!networks_.serving().trusted_version.certificate.empty());
  engine_.trials().offer(placement::Candidate::baseline, active && present.baseline);
  engine_.trials().offer(placement::Candidate::learned, active && present.learned);
}

NetworkChoice::NetworkStates NetworkChoice::states() const {
  const Present present = this->present();
  const bool measured = engine_.measured();
  NetworkStates states;
  if (present.baseline)
    states.baseline = measured          ? engine_.trials().state(placement::Candidate::baseline)
                      : present.learned ? stats::NetworkState::candidate
                                        : stats::NetworkState::in_use;
  if (present.learned)
    states.learned = measured ? engine_.trials().state(placement::Candidate::learned) : stats::NetworkState::in_use;
  return states;
}

std::vector<Contender> NetworkChoice::measured_contenders() const {
  const placement::CandidateTrials& trials = engine_.trials();
  const ServingModel::Serving serving = networks_.serving();
  const bool shipped = fits(serving.trusted, serving.trusted_version);
  std::vector<Contender> all;
  for (const placement::Candidate each : placement::kCandidates) {
    const bool in_use = each == trials.in_use();
    Contender one{(placement::is_network(each) ? "the network " : "the policy ") + std::string(trials.name(each)),
                  in_use,
                  each == trials.serves() && !in_use ? "it has the current block" : "",
                  {},
                  {},
                  {}};
    const bool rests = trials.state(each) == stats::NetworkState::withdrawn;
    if (each != placement::Candidate::floor || in_use || rests) one.state = trials.state(each);
    if (const auto mean = trials.difference(each)) {
      MeasuredDifference measured{std::string(trials.name(trials.reference(each))), std::expm1(*mean), {}, {}, 0, {}};
      if (const auto interval = trials.interval(each)) {
        measured.low = std::expm1(interval->low);
        measured.high = std::expm1(interval->high);
      }
      measured.groups = trials.groups(each);
      measured.wait_ratio = trials.waited(each).mean();
      one.measured = std::move(measured);
    }
    if (each == placement::Candidate::baseline && shipped && !one.measured)
      one.certificate = serving.trusted_version.certificate;  // until blocks have measured it here
    all.insert(in_use ? all.begin() : all.end(), std::move(one));
  }
  return all;
}

std::vector<Contender> NetworkChoice::contenders() const {
  if (engine_.measured()) return measured_contenders();
  const InUse in_use = this->in_use();
  if (in_use.network == nullptr || !engine_.policy().learns) return {};
  const bool learned = in_use.learned || in_use.version.loaded_from.empty();
  const NetworkStates states = this->states();
  return {{learned ? "the network learned on this cluster" : "the network " + in_use.version.loaded_from,
           true,
           {},
           in_use.version.certificate,
           in_use.learned ? states.learned : states.baseline,
           {}}};
}

// Zero while another candidate serves, and for the initial network, which was judged elsewhere.
double NetworkChoice::epsilon() const {
  const InUse in_use = this->in_use();
  const bool began_with = in_use.network != nullptr && !in_use.learned;
  return engine_.gated() || began_with ? 0 : engine_.options().epsilon;
}

}  // namespace wattle::controller
