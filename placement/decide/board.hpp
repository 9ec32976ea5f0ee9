// board: precomputed scores for a few pod classes. The shim serves them when no answer to a request arrives in time.
// Errors   none: a class without a feasible node has no scores
// Threads  pure except for the generator passed in
#pragma once

#include <array>
#include <random>

#include "common/wire/messages.hpp"
#include "placement/decide/decide.hpp"

namespace wattle::placement {

// Upper ends of the classes in requested cores. A pod of a class is assumed to request 1 GiB per core.
inline constexpr std::array<double, 4> kBoardClassCores = {0.1, 0.5, 2.0, 8.0};

// Returns the scores of the view's nodes for one class, without exploration. Contains only nodes with a score above 0.
wire::BoardClass board_class(std::size_t number, const ClusterView& view, const PolicyInputs& inputs,
                             const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random);
// Returns the scores of all classes.
std::vector<wire::BoardClass> board_classes(const ClusterView& view, const PolicyInputs& inputs,
                                            const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random);

}  // namespace wattle::placement
