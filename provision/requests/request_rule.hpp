// request_rule: suggests CPU and memory requests for one workload from the past needs of its pods.
// Need     CPU: a pod's usage in a minute, raised by the share that it waited or was throttled, at most twice the
//          usage. Memory: the maximum of ten minutes without page cache, or with it if the pod waited for memory or
//          reached memory.high. An OOM kill adds a fifth, which takes effect at once and is the minimum for
//          `kill_hold_s`, or for a day where rises are known
// Rule     a quantile of a histogram with decaying weights, evaluated each `every_s`: up at once; down if it was lower
//          by `dead_ratio` (memory: by a step) for all of `hold_s`, and then to the maximum of that time. A change down
//          is that far from the change before it. Once three days are known: for CPU the need of those days at
//          this time of day (daily_need), for memory the current need plus its known rise (memory_need)
// Lasting  a suggestion that covers the last one to two days, for requests that do not follow the rule (lasting_need)
// Evidence enough to raise after `raise_after_s` of readings, enough to lower after `lower_after_s`
// Units    cores, bytes, seconds of the wall clock, because state continues after a restart
// Errors   unpack: the reader's; the rule is then unchanged
// Threads  values
#pragma once

#include <optional>

#include "common/stats/decayed_histogram.hpp"
#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/packed.hpp"
#include "provision/requests/daily_need.hpp"
#include "provision/requests/lasting_need.hpp"
#include "provision/requests/memory_need.hpp"

namespace wattle::placement {

struct RequestOptions {
  double cpu_half_life_s = 8 * 3600, memory_half_life_s = 86'400;
  double cpu_share = 0.93, memory_share = 0.99;  // of the weight that is covered
  double memory_margin_ratio = 0.15;
  double kill_hold_s = 8 * 86'400, risen_kill_hold_s = 86'400;
  double daily_after_days = 3;  // known days for the next hour; 8: never
  double rises_after_days = 3;  // known days before today; 14: never
  double load_exponent = 0;     // a minute's weight is its need to this power: 0 weighs time, 1 load
  double raise_after_s = 3600, lower_after_s = 12 * 3600;
  double every_s = 600, hold_s = 1800;
  double dead_ratio = 0.1;  // of CPU; memory moves in steps
  double least_cores = 0.025, least_bytes = 32 << 20;
};

// A pod's report for an interval.
struct PodUse {
  double cores = 0;
  std::optional<double> waited_ratio;     // of the interval: pressure, which includes throttling
  std::optional<double> throttled_ratio;  // used if pressure is not reported
};
double needed_cores(const PodUse& use);

struct PodMemory {
  double bytes = 0;
  double cache_bytes = 0;
  bool pressed = false;  // it waited for memory, or reached memory.high
  bool killed = false;
};
double needed_bytes(const PodMemory& memory);

// Suggestion for one resource, and the times at which it may change.
class RequestTrack {
 public:
  // `wanted` is the histogram's current value, `original` the pods' request.
  void look(double wanted, double original, double now_s, bool may_raise, bool may_lower, double hold_s,
            double dead_ratio);
  std::optional<double> value() const { return value_; }  // no value before the first suggestion
  std::optional<double> low_since_s() const { return low_since_s_; }
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  template <class V>
  void fields(V& v);  // of pack_fields.hpp

 private:
  std::optional<double> value_, low_since_s_;
  double low_most_ = 0;  // maximum wanted since then
};

class RequestRule {
 public:
  explicit RequestRule(RequestOptions options = {});

  // Adds one pod's mean over `seconds` that end at `now_s`.
  void add_cpu(double needed, double seconds, double now_s);
  void add_memory(double needed, double now_s, bool killed = false);
  // Returns true if an evaluation was due.
  bool look(const Resources& original, double now_s);

  // Independent of the pods' requests; floor_of() applies those.
  std::optional<double> cpu_cores() const { return cpu_track_.value(); }
  std::optional<double> memory_bytes() const { return memory_track_.value(); }
  // The value that the data suggests now; no value without data.
  std::optional<double> wanted_cores() const;
  std::optional<double> wanted_bytes() const;
  // At least the suggestion; no value before the first.
  std::optional<double> lasting_cores() const;
  std::optional<double> lasting_bytes() const;
  // The largest memory that a pod needed in that time; 0: unknown.
  double lasting_needed_bytes() const { return lasting_.needed_bytes(); }
  const RequestTrack& cpu_track() const { return cpu_track_; }
  const RequestTrack& memory_track() const { return memory_track_; }
  double observed_s() const { return observed_s_; }
  // Remaining observation time before a change; 0: none.
  double raise_needs_s() const;
  double lower_needs_s() const;
  const RequestOptions& options() const { return options_; }

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);

 private:
  std::optional<double> risen_bytes() const;  // no value while rises are unknown
  bool is_held(double now_s) const;

  RequestOptions options_;
  stats::DecayedHistogram cpu_, memory_;
  RequestTrack cpu_track_, memory_track_;
  DailyNeed daily_;  // of CPU
  MemoryNeed rises_;
  LastingNeed lasting_;
  double observed_s_ = 0, last_contact_s_ = 0, looked_s_ = 0;
  double killed_bytes_ = 0, killed_s_ = 0;  // need at the last OOM kill, and its time; 0: none
};

// Returns at least the pods' current request unless shrinking is allowed.
double floor_of(double suggested, double original, bool shrink_allowed);

}  // namespace wattle::placement
