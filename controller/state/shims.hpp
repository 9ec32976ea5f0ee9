// shims: tracks the shims that ask this controller, and pods of Wattle's schedulers that were bound without an ask.
// Source   beats of shims (Query `shim`), asks, and bindings that the API server reports
// Rules    a shim is an identity and a host, because several may share a key. Connected: a beat within kShimSilent;
//          forgotten after kShimForgotten. Wattle's schedulers: the configured ones and those whose asks arrived
//          through shims. A pod counts when its binding is observed, DaemonSet pods never. Bindings before the start,
//          or while the API server was not watched, are unknown. kube-scheduler does not ask if only one node is left:
//          such pods count as unasked, too
// Errors   malformed (an invalid beat), exhausted (kShimsKept are known)
// Threads  the loop's
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/pod.hpp"
#include "common/result.hpp"

namespace wattle::controller {

inline constexpr Duration kShimSilent = std::chrono::seconds(5);
inline constexpr Duration kShimForgotten = std::chrono::minutes(10);
inline constexpr Duration kBindingsWindow = std::chrono::minutes(15);
inline constexpr std::size_t kShimsKept = 64;
inline constexpr std::size_t kSchedulersKept = 64;
inline constexpr std::size_t kAsksKept = 20'000;

// State from the last beat.
struct Shim {
  std::string peer, host, version;
  MonoTime beat_at{};
  std::uint64_t asked = 0, without_controller = 0, breaker_opened = 0, wrong_paths = 0;
  std::optional<MonoTime> asked_at;  // by kube-scheduler
  std::optional<WallTime> certificate_end;
};

struct Bindings {
  std::uint64_t pods = 0, unasked = 0;
};

class Shims {
 public:
  explicit Shims(const std::vector<std::string>& schedulers) : schedulers_(schedulers.begin(), schedulers.end()) {}
  Status beat(const std::string& peer, const std::map<std::string, std::string>& facts, MonoTime now);
  void asked(const std::string& pod_uid, MonoTime now);
  // The API server reports that the pod was just bound.
  void bound(const kube::Pod& pod, MonoTime now);
  void expire(MonoTime now);

  const std::map<std::string, Shim>& all() const { return shims_; }
  static bool connected(const Shim& shim, MonoTime now) { return now - shim.beat_at <= kShimSilent; }
  std::size_t connected(MonoTime now) const;
  std::optional<MonoTime> last_ask() const { return last_ask_; }
  const std::set<std::string>& schedulers() const { return schedulers_; }
  // Counts within kBindingsWindow, and since the start.
  Bindings recent() const;
  const Bindings& total() const { return total_; }

 private:
  struct Minute {
    MonoTime began{};
    Bindings bindings;
  };
  std::map<std::string, Shim> shims_;  // by peer and host
  std::set<std::string> schedulers_;
  std::optional<MonoTime> last_ask_;
  std::unordered_set<std::string> asked_;  // UIDs
  std::deque<std::string> asked_in_turn_;
  std::deque<Minute> minutes_;
  Bindings total_;
};

}  // namespace wattle::controller
