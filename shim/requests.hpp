// requests: who asked this shim, how often, when last, and how many answers had to do without the controller.
// Bounds   kSchedulersKept names of schedulers; further ones are counted and not named
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
  // For the beat: asked, asked_ago_ms (absent before the first), without_controller, schedulers ("a,b").
  std::map<std::string, std::string> facts(MonoTime now) const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::uint64_t asked_ = 0, without_controller_ = 0;
  std::optional<MonoTime> asked_at_;
  std::set<std::string> schedulers_;
};

}  // namespace wattle::shim
