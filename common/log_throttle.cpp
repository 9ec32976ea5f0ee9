#include "common/log_throttle.hpp"

#include <utility>

namespace wattle {

std::optional<std::uint64_t> LogThrottle::note(const std::string& peer, MonoTime now) {
  auto found = peers_.find(peer);
  if (found == peers_.end()) {
    if (peers_.size() >= capacity_)
      std::erase_if(peers_, [&](const auto& one) { return now - one.second.reported >= interval_; });
    if (peers_.size() >= capacity_) return std::nullopt;
    peers_.emplace(peer, Seen{now, 0});
    return 1;
  }
  Seen& seen = found->second;
  ++seen.unreported;
  if (now - seen.reported < interval_) return std::nullopt;
  seen.reported = now;
  return std::exchange(seen.unreported, 0);
}

}  // namespace wattle
