// pairs: which applications disturb each other on a shared machine, and how much, in pairs or through shared resources.
// Model    a pod beside at least one pod of a disturbing application runs at 1 / (1 + strength) of its speed; only the
//          strongest counts. It keeps its cores busy (caches, memory bandwidth and hardware threads are shared, so that
//          an instruction takes longer) and counts as waiting for the remaining time. Its work is fixed, so it runs,
//          and uses cores, correspondingly longer
// Resource a machine has a capacity per core of each resource. A pod's slowdown by a resource is its application's
//          sensitivity times the excess of the other pods' use over the capacity; the slowdowns by resources add up,
//          and multiply with that of the strongest pair
// Realism  here pressure shows the whole slowdown by pairs, but of resources only the waiting for disk. On a real node
//          pressure shows the time waited for CPUs; a slowdown within a CPU appears only in latency
// Units    strengths: 0.5 means that work takes one and a half times as long
// Errors   none
// Threads  values
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wattle::sim::cluster {

inline constexpr std::size_t kNoApp = static_cast<std::size_t>(-1);

enum class Resource : std::uint8_t { cache, bandwidth, disk };
inline constexpr std::size_t kResources = 3;
using ByResource = std::array<double, kResources>;
// Values of each pod of an application.
struct ResourceUse {
  ByResource uses{}, suffers{};
};
// Factors of the time that work takes: real, and as pressure shows it.
struct Slowdown {
  double real = 1, shown = 1;
};

class Pairs {
 public:
  explicit Pairs(std::size_t apps) : apps_(apps), strengths_(apps * apps) {}
  void disturb(std::size_t a, std::size_t b, double strength) {
    strengths_[a * apps_ + b] = strengths_[b * apps_ + a] = strength;
  }
  double strength(std::size_t a, std::size_t b) const { return a < apps_ && b < apps_ ? strengths_[a * apps_ + b] : 0; }

  // Machines have this capacity per core of each resource.
  void share(double capacity_per_core) {
    capacity_per_core_ = capacity_per_core;
    of_app_.resize(apps_);
  }
  void use(std::size_t app, const ResourceUse& use) { of_app_[app] = use; }
  bool shares() const { return !of_app_.empty(); }
  ByResource uses(std::size_t app) const { return app < of_app_.size() ? of_app_[app].uses : ByResource{}; }
  // The slowdown of a pod on a machine with these cores, beside pods with this use.
  Slowdown slowdown(std::size_t app, const ByResource& others, double cores) const {
    Slowdown slowed;
    if (app >= of_app_.size()) return slowed;
    for (std::size_t r = 0; r < kResources; ++r) {
      const double beyond = std::max(0.0, others[r] / (capacity_per_core_ * cores) - 1) * of_app_[app].suffers[r];
      slowed.real += beyond;
      if (r == static_cast<std::size_t>(Resource::disk)) slowed.shown += beyond;
    }
    return slowed;
  }

 private:
  std::size_t apps_;
  std::vector<double> strengths_;    // symmetric matrix over applications
  std::vector<ResourceUse> of_app_;  // empty: no resource is shared
  double capacity_per_core_ = 1;
};

}  // namespace wattle::sim::cluster
