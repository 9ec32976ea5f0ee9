// shortlist: the nodes of a large fleet that the network ranks, seen as if there were no others: it was taught on fleets of their number,
// and costs as much.
// Choice   what the prior likes best, the planner's choice first of all, and the best of each kind of node: curve, fill, asleep or not
// Seen     ranks, shares and counts are those of the nodes listed; what is told in W0 stays in that of all nodes, as rewards are
// Errors   none
// Threads  pure
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "models/frozen/q_network.hpp"

namespace wattle::placement {

// Whether there are more valid rows than `most` (0: any number will do) and a prior that can tell which are the best: that of a plan.
bool beyond_shortlist(const models::Observation& seen, std::size_t most);
// At most so many rows, ascending. `also`: a row that is listed whatever it is like.
std::vector<std::size_t> shortlist(const models::Observation& seen, std::size_t most,
                                   std::optional<std::size_t> also = std::nullopt);
// These rows alone; all of them valid.
models::Observation listed_alone(const models::Observation& seen, std::span<const std::size_t> rows);

}  // namespace wattle::placement
