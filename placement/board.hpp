// board: standing scores for a few pod classes, for when nobody answers an ask in time.
// Errors   none: a class without a feasible node has no scores
// Threads  pure but for the generator passed in
#pragma once

#include <array>
#include <random>

#include "common/wire/messages.hpp"
#include "placement/decide.hpp"

namespace wattle::placement {

// Upper ends of the classes in requested cores; a pod of a class is taken to request 1 GiB per core.
inline constexpr std::array<double, 4> kBoardClassCores = {0.1, 0.5, 2.0, 8.0};

// Scores of every node of the view for the class of that number, without exploration. Only nodes with a score above 0 are named.
wire::BoardClass board_class(std::size_t number, const ClusterView& view, const PolicyInputs& mind,
                             const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random);
// Of all classes.
std::vector<wire::BoardClass> board_classes(const ClusterView& view, const PolicyInputs& mind,
                                            const DecideOptions& options, std::uint64_t turn, std::mt19937_64& random);

}  // namespace wattle::placement
