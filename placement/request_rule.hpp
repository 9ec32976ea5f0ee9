// request_rule: what one workload's pods should request of CPU and memory, of what each of them needed so far.
// Need     CPU: what a pod used in a minute, and as much more as it waited or was throttled, twice as much at most. Memory: the most
//          of ten minutes without its page cache; with it where the pod waited for memory or met memory.high; a fifth more
//          where it was killed for want of it: that is looked at at once, and is the least for `kill_hold_s`, for a day where rises
//          are known
// Rule     a quantile of a histogram whose weights fade. It is looked at each `every_s`: up at once, down when it was lower by
//          `dead_ratio` for `hold_s` without a break, and then to the most of that time. Two changes down, or one after one up,
//          are that far apart
//          Once three days are known: of CPU what those days had at this time of day (daily_need), of memory what is needed now and
//          how much more it came to be (memory_need)
// Knows    after `raise_after_s` of being heard enough to suggest more, after `lower_after_s` enough to suggest less
// Units    cores, bytes, seconds of the wall clock: what is kept goes on after a restart
// Errors   unpack: the reader's; what it refuses leaves the rule as it was
// Threads  values
#pragma once

#include <optional>

#include "common/stats/decayed_histogram.hpp"
#include "placement/cluster_view.hpp"
#include "placement/daily_need.hpp"
#include "placement/memory_need.hpp"
#include "placement/packed.hpp"

namespace wattle::placement {

struct RequestOptions {
  double cpu_half_life_s = 8 * 3600, memory_half_life_s = 86'400;
  double cpu_share = 0.93, memory_share = 0.99;  // of the weight that is covered
  double memory_margin_ratio = 0.15;
  double memory_rise_ratio = 0.1;  // beyond the greatest rise
  double kill_hold_s = 8 * 86'400, risen_kill_hold_s = 86'400;
  double daily_after_days = 3;  // that are known of the hour to come; 8: never
  double rises_after_days = 3;  // that are known beside today; 14: never
  double load_exponent = 0;     // a minute weighs as its need to that power: 0 time, 1 load
  double raise_after_s = 3600, lower_after_s = 12 * 3600;
  double every_s = 600, hold_s = 1800;
  double dead_ratio = 0.1, memory_dead_ratio = 0.05;
  double least_cores = 0.025, least_bytes = 32 << 20;
};

// What a pod told of an interval.
struct PodUse {
  double cores = 0;
  std::optional<double> waited_ratio;     // of the interval: pressure, which throttling is part of
  std::optional<double> throttled_ratio;  // where pressure is not told
};
double needed_cores(const PodUse& use);

struct PodMemory {
  double bytes = 0;
  double cache_bytes = 0;
  bool pressed = false;  // it waited for memory, or met memory.high
  bool killed = false;
};
double needed_bytes(const PodMemory& memory);

// One resource's suggestion and when it may move.
class RequestTrack {
 public:
  // `wanted` is what the histogram says now, `original` what the pods request.
  void look(double wanted, double original, double now_s, bool may_raise, bool may_lower, double hold_s,
            double dead_ratio);
  std::optional<double> value() const { return value_; }  // absent: nothing is suggested yet
  std::optional<double> low_since_s() const { return low_since_s_; }
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  std::optional<double> value_, low_since_s_;
  double low_most_ = 0;  // of what was wanted since then
};

class RequestRule {
 public:
  explicit RequestRule(RequestOptions options = {});

  // One pod's mean over `seconds` that end at `now_s`.
  void add_cpu(double needed, double seconds, double now_s);
  void add_memory(double needed, double now_s, bool killed = false);
  // True: it was time to look.
  bool look(const Resources& original, double now_s);

  // Without regard to what the pods request: that is floor()'s.
  std::optional<double> cpu_cores() const { return cpu_track_.value(); }
  std::optional<double> memory_bytes() const { return memory_track_.value(); }
  // What is known says now; absent of nothing.
  std::optional<double> wanted_cores() const;
  std::optional<double> wanted_bytes() const;
  const RequestTrack& cpu_track() const { return cpu_track_; }
  const RequestTrack& memory_track() const { return memory_track_; }
  double heard_s() const { return heard_s_; }
  double last_heard_s() const { return last_heard_s_; }
  // How much longer it must be heard; 0: no longer.
  double raise_needs_s() const;
  double lower_needs_s() const;
  const RequestOptions& options() const { return options_; }

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  std::optional<double> risen_bytes() const;  // absent: rises are not known yet
  bool is_held(double now_s) const;

  RequestOptions options_;
  stats::DecayedHistogram cpu_, memory_;
  RequestTrack cpu_track_, memory_track_;
  DailyNeed daily_;  // of CPU
  MemoryNeed rises_;
  double heard_s_ = 0, last_heard_s_ = 0, looked_s_ = 0;
  double killed_bytes_ = 0, killed_s_ = 0;  // needed where it was killed last, and when; 0: it was not
};

// Never below what the pods request now, unless they allow it.
double floor_of(double suggested, double original, bool shrink_allowed);

}  // namespace wattle::placement
