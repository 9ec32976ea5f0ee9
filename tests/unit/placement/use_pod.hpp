// use_pod: reports the usage of one pod to a cluster model.
#pragma once

#include <optional>
#include <string>

#include "placement/cluster/cluster_model.hpp"

namespace wattle::placement::testing {

inline void use_pod(ClusterModel& model, PodHandle pod, double cores, double interval_s,
                    std::optional<double> waited = std::nullopt) {
  const PodReading reading{pod, cores, waited};
  model.used({&reading, 1}, interval_s);
}

inline void use_pod(ClusterModel& model, const std::string& uid, double cores, double interval_s,
                    std::optional<double> waited = std::nullopt) {
  use_pod(model, model.pods().find(uid), cores, interval_s, waited);
}

}  // namespace wattle::placement::testing
