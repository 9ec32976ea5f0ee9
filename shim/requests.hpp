// requests: counts requests to this shim: by which schedulers, how many, the time of the last one, and how many were
// answered without the controller.
// Bounds   names of kSchedulersKept schedulers; further ones are counted without their name
// Errors   none
// Threads  any
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "common/clock.hpp"

namespace wattle::shim {

inline constexpr std::size_t kSchedulersKept = 8;

class Requests {
 public:
  void note(const std::string& scheduler, bool without_controller, MonoTime now);
  // Facts for the beat: asked, asked_ago_ms (missing before the first request), without_controller, schedulers ("a,b").
  std::map<std::string, std::string> facts(MonoTime now) const;

 private:
  mutable std::mutex mutex_;  // guards everything below
  std::uint64_t asked_ = 0, without_controller_ = 0;
  std::optional<MonoTime> asked_at_;
  std::set<std::string> schedulers_;
};

}  // namespace wattle::shim
