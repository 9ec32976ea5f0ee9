// sizing_facts: what suggestions and right sizes need from a pod's object and its node's record.
// Errors   none
// Threads  pure functions
#pragma once

#include "common/kube/pod.hpp"
#include "controller/state/cluster_state.hpp"
#include "provision/requests/request_rule.hpp"
#include "provision/requests/right_size.hpp"

namespace wattle::controller {

placement::PodAnswer pod_answer(kube::PodResize resize);
// Memory of the pod in the interval. `known_bytes`: need before it, which a killed pod exceeded.
placement::PodMemory pod_memory(const WorkloadValues& values, double known_bytes);
// Adds the suggestions, once there is evidence for lower requests.
void add_rule(placement::OwnerFacts& facts, const placement::RequestRule& rule);
// Shares of the interval in which the pod was throttled or waited.
placement::KnownHarm harm_shares(const WorkloadValues& values, double seconds);
// Adds what the pod would have experienced in the interval with the final request of its owner.
void add_shadow(placement::ShadowUse& shadow, const placement::Resources& goal, const Workload& pod, double seconds,
                double now_s);

}  // namespace wattle::controller
