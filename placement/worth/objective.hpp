// objective: defines the cost of a placement: energy, subject to budgets. A budget limits a measured quantity, such as
// the share of time that pods wait for CPU. The expected addition of a placement to that quantity costs watts at the
// budget's price.
// Cost     of a node: its watts + price x cores' worth of tenants that wait (placement/cluster/waiting). At a price of
//          0 it is the watts. Waiting uses the upper end of the pods' possible usage, power uses the mean: poorly known
//          pods are not crowded together, because the errors of replicas are correlated
// Measured a share of time is pod-seconds waited over pod-seconds lived: an hour of a hundred pods weighs as much as a
//          hundred hours of one
// Latency  a shortfall of the reward's latency term can cost watts for the lifetime of the pod. A point of the latency
//          term costs the joules of a point of the energy term (placement/worth/reward), so that copies of a cluster
//          weigh both like outcomes do. A hard limit is a mask and has no price
// Late     the share of pods' time above their soft latency limit, over pods with a limit and a reported latency. Its
//          price multiplies the latency term in the prior, the watts that latency costs in copies, and late_cost. The
//          price is 1 (no effect) within the budget and while the limit is a guess
// Price    set by the budget (placement/cluster/budget)
// Units    watts, cores, watts per waiting core, seconds
// Errors   none; values that are not finite are ignored
// Threads  pure functions
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "placement/cluster/fleet.hpp"
#include "placement/worth/prior.hpp"

namespace wattle::placement {

// Cost of a node that is on, with that mean usage and variance.
double node_cost_w(const FleetNode& node, double used_cores, double variance, double cpu_wait_price_w);
// Waiting that the pod adds, for itself and the node's other pods, at the fleet's price.
double added_wait_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
// Like added_w and amortised_w (placement/cluster/fleet), including waiting.
double added_cost_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);
double amortised_cost_w(const Fleet& fleet, std::size_t node, const PodEstimate& ask);

// Cost of the distance from the pod's users, in multiples of the pod's watts: the part of the latency term that a node
//          with this latency loses, at its price. 0 for a pod without a latency limit. For policies without the prior
//          of Q.
double late_cost(double latency_price, const PodSpec& pod, std::optional<double> latency_ms);

// Sets the price of the prior's latency term.
void price_latency(double latency_price, std::span<Prediction> predictions);

}  // namespace wattle::placement
