// baseline: schedulers of others, as their own sources score nodes. Each is alone in its profile: its score decides, ties at random.
// Sees     what its scheduler would: the API server's requests and what agents told. Nothing here can name the world, a pod's real
//          demand or a server's real curve; a test holds it to that
// Units    scores as the original's, higher is better; in names
// Errors   make_baseline: not_found, with the names
// Threads  a baseline has a single owner
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "placement/cluster_view.hpp"
#include "sim/kube_scoring.hpp"

namespace wattle::sim {

struct Sight {
  const placement::ClusterView& view;
  const placement::PodSpec& pod;
  std::span<const KubeNode> nodes;        // the scheduler's cache, in the order of the view
  std::span<const std::size_t> feasible;  // they fit by request; at least one
};

class Baseline {
 public:
  virtual ~Baseline() = default;
  virtual std::string_view name() const = 0;
  // One score per node of `nodes`; those of nodes that are not feasible are not read.
  virtual std::vector<double> score(const Sight& sight) = 0;
  // The pod was bound there.
  virtual void placed(const Sight&, std::size_t) {}
};

// "most_allocated", "target_load_packing", "lvrb", "koordinator", "fewest_pods", "most_pods".
std::span<const std::string_view> baseline_names();
Result<std::unique_ptr<Baseline>> make_baseline(std::string_view name);

}  // namespace wattle::sim
