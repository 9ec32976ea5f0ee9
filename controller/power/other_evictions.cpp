#include "controller/power/other_evictions.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller::power {

void OtherEvictions::add(std::string node, std::string pod, std::string owner, MonoTime now) {
  std::erase_if(all_, [now](const Eviction& each) { return now - each.at >= kRemembered; });
  const bool replaced = !owner.empty();
  all_.push_back({std::move(node), std::move(pod), std::move(owner), now, !replaced});
}

bool OtherEvictions::landed(const std::string& owner) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Eviction& each) { return !each.landed && each.owner == owner; });
  if (found == all_.end()) return false;
  found->landed = true;
  return true;
}

std::size_t OtherEvictions::in_flight(MonoTime now) const {
  return static_cast<std::size_t>(std::count_if(
      all_.begin(), all_.end(), [now](const Eviction& each) { return !each.landed && now - each.at < kRemembered; }));
}

std::string OtherEvictions::reason(const std::string& node, MonoTime now) const {
  const auto last = std::find_if(all_.rbegin(), all_.rend(), [&](const Eviction& each) {
    return each.node == node && now - each.at < kRemembered;
  });
  return last == all_.rend() ? std::string()
                             : "another program evicted pod " + last->pod + " from it less than 10 min ago";
}

}  // namespace wattle::controller::power
