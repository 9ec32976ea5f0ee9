// ledger: the only writer of limits. What was there is put back whatever happens; what others write is theirs.
// Rules    before a knob is written its value is read: one that is not what we wrote last is somebody else's. It stays, the other
//          knobs of that workload are put back, and it is left alone for a minute; after that minute it is the new original
//          Of quota and burst the one is written first that never lets burst be above quota
//          A workload that is gone has nothing to restore
//          With a damaged record a value that is not known to be ours stays, is reported with the original, and keeps its record
//          What systemd keeps since we came goes once nothing is held, in restore_all
// Errors   of the seam and the journal; a knob that could not be put back keeps its record, and is tried again
// Limits   the kernel has no compare-and-swap: what somebody writes in the microseconds between our read and our write is lost
// Threads  single owner
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "actuator/journal.hpp"
#include "actuator/limits.hpp"
#include "common/clock.hpp"

namespace wattle::actuator {

inline constexpr Duration kHandsOff = std::chrono::minutes(1);

enum class Outcome { done, hands_off, gone };

struct Restored {
  std::uint64_t put_back = 0, foreign = 0, gone = 0;
  std::uint64_t waiting = 0;  // bursts above a quota that somebody else lowered: put back once it allows them
  std::vector<Error> failed;
  std::optional<Error> damage;  // of the record: what it does not say cannot be put back
  std::vector<Error> traces;    // drop-ins of systemd that are ours and could not be taken away
};

class Ledger {
 public:
  Ledger(Journal journal, Limits& limits) : journal_(std::move(journal)), limits_(limits) {}

  // What others gave the workload: our originals where we wrote, else what is there now.
  Result<Values> originals(const Target& target);
  // Writes what is wanted and differs; a knob that is not wanted (any more) is put back.
  Result<Outcome> set(const Target& target, Values wanted, MonoTime now);
  // Only looks whether somebody else wrote.
  Result<Outcome> look(const Target& target, MonoTime now) { return check(target, now, nullptr); }
  Restored restore(const Target& target);
  Restored restore_all();

  const std::optional<Error>& damage() const { return journal_.damage(); }
  bool holds(const Target& target) const { return journal_.records().all().contains(target); }
  std::vector<Target> targets() const;
  std::size_t held() const { return journal_.records().all().size(); }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t foreign() const { return foreign_; }

 private:
  Result<Outcome> check(const Target& target, MonoTime now, Values* current);
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
