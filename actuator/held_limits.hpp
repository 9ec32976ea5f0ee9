// held_limits: the limits that one workload should have, and their keeper (kernel or systemd).
// Slow     while the keeper does not answer, its state is kept and the request is repeated every second for
//          kSlowPatience
// Units    of systemd: each write costs a file, so a unit's limit is lowered every 5 s at most
// Errors   those of the ledger
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>

#include "actuator/ledger.hpp"
#include "actuator/limits.hpp"
#include "common/clock.hpp"
#include "provision/student/student.hpp"

namespace wattle::actuator {

inline constexpr Duration kSlowPatience = std::chrono::seconds(60);

class HeldLimits {
 public:
  // Takes over a target with these original limits.
  void adopt(Target target, const Values& originals, MonoTime now);
  // Forgets the target; the caller has restored its limits.
  void clear() { *this = {}; }
  const std::optional<Target>& target() const { return target_; }
  const Values& originals() const { return originals_; }
  // Original CPU limit; no value without one.
  std::optional<std::int64_t> original_quota_us() const;

  // Set by us, or suggested.
  const std::optional<CpuLimit>& cpu() const { return cpu_; }
  std::optional<std::int64_t> high_bytes, low_bytes;
  // Changes the CPU limit within the original one. Returns false if it stays the same.
  bool set_cpu(CpuLimit next, MonoTime now);

  // Writes the wanted limits.
  Result<Outcome> write(Ledger& ledger, MonoTime now);
  // Checks about once a second whether another writer changed a limit. No value: a check is not due.
  std::optional<Result<Outcome>> look(Ledger& ledger, MonoTime now);
  // Returns true if the keeper that gave this error may still answer, and schedules the next try.
  bool waits(const Error& error, MonoTime now);
  bool slow() const { return slow_since_.has_value(); }
  bool retry_due(MonoTime now) const { return slow() && now >= retry_at_; }

 private:
  std::optional<Target> target_;
  Values originals_;
  std::optional<CpuLimit> cpu_;
  MonoTime looked_at_, wrote_at_, retry_at_;
  std::optional<MonoTime> slow_since_;  // start of a request that is not answered yet
};

}  // namespace wattle::actuator
