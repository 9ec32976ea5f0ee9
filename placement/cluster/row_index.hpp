// row_index: finds a view's nodes by name without hashing every name at every decision.
// Cached   the row of each candidate of the last call, and an index of the view's names. Both are hints: each is
//          checked against the view's node, so that views may change in between, and a fresh RowIndex gives the same
//          results
// Errors   none: a name that the view does not have has no row
// Threads  single owner
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/cluster/cluster_view.hpp"

namespace wattle::placement {

class RowIndex {
 public:
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  // Returns for each name the index into view.nodes, or kNoRow. Valid until the next call.
  std::span<const std::size_t> find(const ClusterView& view, std::span<const std::string> names);

 private:
  std::size_t look_up(const ClusterView& view, const std::string& name, bool& fresh);
  bool up_to_date(const ClusterView& view) const;
  void build(const ClusterView& view);

  std::vector<std::size_t> last_;
  std::vector<std::string> names_;  // of the view that index_ was built for
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace wattle::placement
