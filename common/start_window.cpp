#include "common/start_window.hpp"

#include <algorithm>

namespace wattle {

std::uint64_t StartCap::of(double cpu_cores) const {
  constexpr double kMost = 1e9;
  const double sized = per_core * cpu_cores;
  if (!(sized > 0)) return least;
  return std::max(least, static_cast<std::uint64_t>(std::min(sized, kMost)));
}

std::string StartWindow::hold(const std::string& pod_uid, const std::string& node, MonoTime until) {
  std::string before = drop(pod_uid);
  held_.emplace(pod_uid, Held{node, until});
  ends_.emplace(until, pod_uid);
  ++counts_[node];
  return before;
}

std::string StartWindow::drop(const std::string& pod_uid) {
  const auto found = held_.find(pod_uid);
  if (found == held_.end()) return {};
  std::string node = std::move(found->second.node);
  ends_.erase({found->second.until, pod_uid});
  held_.erase(found);
  const auto count = counts_.find(node);
  if (--count->second == 0) counts_.erase(count);
  return node;
}

std::string StartWindow::drop(const std::string& pod_uid, MonoTime until) {
  const auto found = held_.find(pod_uid);
  return found != held_.end() && found->second.until == until ? drop(pod_uid) : std::string();
}

std::vector<std::string> StartWindow::expire(MonoTime now) {
  std::vector<std::string> nodes;
  while (!ends_.empty() && ends_.begin()->first <= now) nodes.push_back(drop(std::string(ends_.begin()->second)));
  return nodes;
}

std::uint64_t StartWindow::count(const std::string& node) const {
  const auto found = counts_.find(node);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace wattle
