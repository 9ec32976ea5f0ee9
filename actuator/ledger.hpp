// ledger: the only writer of limits. Always restores the originals, and respects values that others write.
// Rules    A knob is read before it is written: if the value is not our last one, it belongs to another writer. It
//          stays, the other knobs of that workload are restored, and the workload is not touched for a minute; then the
//          value becomes the new original. Only knobs that are wanted or recorded are read, so that an error of one
//          does not affect the others. Quota and burst are written in the order that never makes burst exceed quota.
//          A workload that is gone has nothing to restore.
//          With a damaged record, a value that is not known to be ours stays and keeps its record, and is reported with
//          the original. restore_all() also removes systemd drop-ins that we caused, once no limit is held.
// Errors   those of Limits and the journal; a knob that could not be restored keeps its record, and is tried again
// Limits   the kernel has no compare-and-swap: a write by others in the microseconds between our read and write is lost
// Threads  single owner
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "actuator/journal.hpp"
#include "actuator/limits.hpp"
#include "common/clock.hpp"

namespace wattle::actuator {

inline constexpr Duration kHandsOff = std::chrono::minutes(1);

enum class Outcome { done, hands_off, gone };

struct Restored {
  std::uint64_t put_back = 0, foreign = 0, gone = 0;
  std::uint64_t waiting = 0;  // bursts above a quota that another writer lowered; restored once the quota allows them
  std::vector<Error> failed;
  std::optional<Error> damage;  // damage of the record: limits that it lacks cannot be restored
  std::vector<Error> traces;    // our drop-ins that could not be removed
};

class Ledger {
 public:
  Ledger(Journal journal, Limits& limits) : journal_(std::move(journal)), limits_(limits) {}

  // Limits set by others: our recorded originals where we wrote, otherwise the current values.
  Result<Values> originals(const Target& target, std::span<const Knob> knobs = kKnobs);
  // Writes wanted values that differ; restores all other knobs.
  Result<Outcome> set(const Target& target, Values wanted, MonoTime now);
  // Only checks whether another writer changed a limit.
  Result<Outcome> look(const Target& target, MonoTime now) { return check(target, now, {}, nullptr); }
  Restored restore(const Target& target);
  Restored restore_all();

  const std::optional<Error>& damage() const { return journal_.damage(); }
  bool holds(const Target& target) const { return journal_.records().all().contains(target); }
  std::vector<Target> targets() const;
  std::size_t held() const { return journal_.records().all().size(); }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t foreign() const { return foreign_; }

 private:
  Result<Outcome> check(const Target& target, MonoTime now, const Values& wanted, Values* current);
  Status write(const Target& target, Knob knob, std::int64_t current, std::int64_t value);
  Status leave(const Target& target, const Values& seen, MonoTime now);
  void put_back(const Target& target, const Values& current, Restored& out);
  Result<Outcome> gone(const Target& target);
  Status note_trace(const Target& target, Knob knob, std::int64_t current);
  Status let_go(const Target& target, Knob knob, const Record& record, std::int64_t theirs);
  void erase_traces(Restored& out);

  Journal journal_;
  Limits& limits_;
  std::map<Target, MonoTime> off_until_;
  std::uint64_t writes_ = 0, foreign_ = 0;
};

}  // namespace wattle::actuator
