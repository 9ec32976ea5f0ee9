// shortlist: selects the nodes of a large fleet that the network ranks, as if there were no others. The network was
// trained on fleets of that size, and the selection bounds its cost.
// Choice   the prior's best nodes, starting with the planner's choice, and the best of each kind of node: curve, fill,
//          asleep or not
// Input    ranks, shares and counts are recomputed over the listed nodes; values in W0 keep that of all nodes, as
//          rewards do
// Errors   none
// Threads  pure
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "models/frozen/q_network.hpp"

namespace wattle::placement {

// Returns whether there are more valid rows than `most` (0: never) and a prior that can order them: that of a plan.
bool beyond_shortlist(const models::Observation& seen, std::size_t most);
// Returns at most `most` rows, ascending. `also`: a row that is always listed.
std::vector<std::size_t> shortlist(const models::Observation& seen, std::size_t most,
                                   std::optional<std::size_t> also = std::nullopt);
// Returns the observation of only these rows; all of them must be valid.
models::Observation listed_alone(const models::Observation& seen, std::span<const std::size_t> rows);

// Applies the network to a shortlist (placement/worth/shortlist) of at most `most` valid nodes (0: all), as if there
// were no others. The other nodes get at most the lowest value on the shortlist.
class Shortlisted final : public models::QNetwork {
 public:
  // `network` must outlive this object.
  Shortlisted(const models::QNetwork& network, std::size_t most) : network_(network), most_(most) {}
  void residual(const models::Observation& observation, std::span<float> out) const override;
  std::uint64_t step() const override { return network_.step(); }
  bool on_prior() const override { return network_.on_prior(); }

 private:
  const models::QNetwork& network_;
  std::size_t most_;
};

// Returns the valid node of highest prior + residual; `keep` (if given) unless another is better by `margin`, or by
// kSilentMargin if that is more and the residual is flat. residual is [nodes].
std::optional<std::size_t> best_node(const models::Observation& observation, std::span<const float> residual,
                                     std::optional<std::size_t> keep, double margin);

}  // namespace wattle::placement
