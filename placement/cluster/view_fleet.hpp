// view_fleet: builds a Fleet from only a view (curves, requests, telemetry), without expectations, for callers without
// a cluster model.
// Units    in names
// Errors   none; values of the view are limited to sane ones
// Threads  pure functions
#pragma once

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/fleet.hpp"

namespace wattle::placement {

Fleet fleet_of(const ClusterView& view);
PodEstimate ask_of(const PodSpec& pod);

// Fills the values that change between decisions. Without `has_room` the node takes no further pod.
void fill_node(FleetNode& out, const NodeView& node, bool has_room);

}  // namespace wattle::placement
