// policy: what ranks the feasible nodes of one decision: the learner, the planner and every heuristic behind one interface.
// Masks    are not its business: it is given the rows that may be chosen, and what it says of others is not read. So no
//          policy can violate a hard constraint while a node satisfies it
// Values   one per row, higher is better; rewards for those that `explore` (a margin means something then), else anything
// Errors   make_policy: not_found, with the names
// Threads  a policy has a single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/result.hpp"
#include "placement/cluster_view.hpp"
#include "placement/knowledge.hpp"
#include "placement/plan_view.hpp"

namespace wattle::placement {

struct PolicyInfo {
  std::string_view name;    // in configuration, API and records; never changes
  std::string_view reason;  // why its node, for people
  bool learns = false;      // the network's residual counts
  bool explores = false;    // its values are rewards
  std::string_view rule;    // of placement/rules that it asks; empty: none
};
std::span<const PolicyInfo> policies();
Result<PolicyInfo> parse_policy(std::string_view name);

// One decision, as a policy sees it.
struct Question {
  const ClusterView& view;
  const PodSpec& pod;                     // limits are sane
  std::span<const std::size_t> node;      // of each row: index into the view's nodes
  std::span<const std::size_t> feasible;  // rows, at least one
  std::span<const double> q;              // of each row: predicted reward, and the residual for one that learns
  Knowledge* knowledge = nullptr;         // null: what the view says
  std::uint64_t turn = 0;                 // decisions before this one
};

class Policy {
 public:
  explicit Policy(const PolicyInfo& info) : info_(info) {}
  virtual ~Policy() = default;
  const PolicyInfo& info() const { return info_; }
  // Work that is better done before somebody asks; about once a second.
  virtual void prepare(const Fleet&) {}
  // Who makes its plans, if it has any; null: whoever asks waits for them.
  virtual void plan_with(PlanMaker*) {}
  // What it would have features and prior know of a plan; asked before rank(), when q is not there yet.
  virtual std::optional<PlanView> foresee(const Question&) { return std::nullopt; }
  // `values` has one place per row and comes as zeros.
  virtual void rank(const Question& question, std::span<double> values) = 0;

 private:
  PolicyInfo info_;
};

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, std::uint64_t seed);

}  // namespace wattle::placement
