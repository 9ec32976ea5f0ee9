// harm_watch: the shares of time in which an owner's pods were throttled or waited, and their OOM kills, to compare
// them before and after a change of requests.
// Means    decaying, with time constants of 30 s (`fast`), 5 minutes (`slow`) and an hour (`hour`); `peak` is the
//          maximum of `fast` in the last one to two days
// Units    shares of time, 0..1; seconds of the wall clock
// Restart  the watch is stored with the owner's state, so that kills and shares since a change continue to count
// Errors   values that are not finite are ignored; a clock that was set back between two runs restarts the means.
//          unpack: the reader's
// Threads  values
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/wall_step.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement {

inline constexpr std::size_t kHarms = 3;  // throttled; waited for CPU; waited for memory
using HarmShares = std::array<double, kHarms>;
using KnownHarm = std::array<std::optional<double>, kHarms>;

class HarmMean {
 public:
  explicit HarmMean(double time_constant_s) : time_constant_s_(time_constant_s) {}
  void add(const KnownHarm& shares, double seconds, double now_s);
  // Zero for a kind that was not reported.
  void move(const WallStep& step) { step.move_s(at_s_); }
  HarmShares mean() const;
  bool known() const;
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  template <class V>
  void fields(V& v);  // of pack_fields.hpp

 private:
  double time_constant_s_, at_s_ = 0;
  HarmShares sum_s_{}, seconds_{};
};

// State before a change, which outlives a restart.
struct HarmBefore {
  HarmShares hour{}, peak{};
  double kills = 0;  // in the day before
  bool operator==(const HarmBefore&) const = default;
  template <class V>
  void fields(V& v) {
    v(hour, peak, kills);
  }
};

class HarmWatch {
 public:
  void add(const KnownHarm& shares, double seconds, double now_s);
  void killed(double now_s);
  // Moves all times with a step of the wall clock.
  void move(const WallStep& step);

  HarmShares fast() const { return fast_.mean(); }
  HarmShares slow() const { return slow_.mean(); }
  HarmShares hour() const { return hour_.mean(); }
  bool known() const { return fast_.known(); }
  double kills_since(double from_s) const;
  HarmBefore before(double now_s) const;
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  template <class V>
  void fields(V& v);  // of pack_fields.hpp

 private:
  HarmMean fast_{30}, slow_{300}, hour_{3600};
  HarmShares peak_{}, last_peak_{};
  double peak_from_s_ = 0;
  std::vector<double> kills_s_;  // the newest
};

// How much the unchanged owners rose above their own hour; zero without such owners.
struct HarmControl {
  HarmShares fast{}, slow{};
};

struct HarmLimits {
  double fast_more = 0.10, slow_more = 0.03;     // shares of time beyond peak and hour
  double fast_after_s = 20, slow_after_s = 120;  // after the change
};

// Returns what became worse since the change at `changed_s`, as a sentence; empty if nothing did.
std::string harm_since(const HarmWatch& now, const HarmBefore& before, const HarmControl& control, double changed_s,
                       double now_s, const HarmLimits& limits = {});

}  // namespace wattle::placement
