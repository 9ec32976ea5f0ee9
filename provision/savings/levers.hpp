// levers: the savings of a cluster, by size, and their sum.
// Rules    each lever is modelled alone, so that removing one from the list does not change the others. The sum counts
//          what they have in common once, omits levers in force, and is at most the fleet's watts
// Common   requests and replicas free nodes together; placement has moves in common with drain, and all of it with the
//          levers that let nodes sleep where they sleep already. sleep shares no node with drain, and neither shares
//          one with requests and replicas, which count only nodes that packing the current pods does not empty
// Units    watts
// Errors   none
// Threads  values
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace wattle::placement {

enum class LeverKind { sleep, drain, requests, replicas, placement };
std::string_view to_string(LeverKind kind);

struct LeverSaving {
  LeverKind kind = LeverKind::sleep;
  std::optional<double> saved_w;        // no value: unknown
  std::optional<double> low_w, high_w;  // 95%; no value: the model has no interval
  bool in_force = false;
};

// The joint saving of requests and replicas, because either may free the same nodes.
struct Together {
  double requests_and_replicas_w = 0;
  // Placement is modelled with sleeping nodes, so that its saving has nodes in common with the others.
  bool placement_sleeps = false;
};

struct SavingsSum {
  double saved_w = 0;
  double in_force_w = 0;  // of the levers in force whose saving is known
  double overlap_w = 0;   // of the levers' sum, counted once; below 0: together they free more than each alone
};

// Largest first; unknown ones last.
void order_by_size(std::vector<LeverSaving>& levers);
SavingsSum sum_of(std::span<const LeverSaving> levers, const Together& together, std::optional<double> fleet_w);

}  // namespace wattle::placement
