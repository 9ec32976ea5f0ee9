#include "controller/decisions/open_decisions.hpp"

#include <utility>

namespace wattle::controller {

void OpenDecisions::add(std::uint64_t id, OpenDecision open) {
  const std::size_t rows = open.node.size();
  if (!open_.emplace(id, std::move(open)).second) return;
  rows_ += rows;
  while (open_.size() > kMax || (rows_ > kMaxRows && open_.size() > 1)) forget(open_.begin());
}

std::optional<OpenDecision> OpenDecisions::take(std::uint64_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return std::nullopt;
  OpenDecision open = std::move(found->second);
  rows_ -= open.node.size();
  open_.erase(found);
  return open;
}

void OpenDecisions::expire(MonoTime now) {
  while (!open_.empty() && now - open_.begin()->second.at > kForgetAfter) forget(open_.begin());
}

OpenDecisions::Open::iterator OpenDecisions::forget(Open::iterator open) {
  rows_ -= open->second.node.size();
  return open_.erase(open);
}

}  // namespace wattle::controller
