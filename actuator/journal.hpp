// journal: records the original limits before the first write, so that they can be restored even if the process is
// killed.
// Source   <state_dir>/originals: one line per change, "<16 hex digits of the rest's SHA-256> <rest>\n", append-only:
//              boot BOOT_ID                              record and limits are valid only during this boot
//              take SEAM ID KNOB ORIGINAL NAME           on disk before the knob is written for the first time
//              write SEAM ID KNOB BEFORE NEXT ORIGINAL NAME
//                                                        before every write; until settled, BEFORE or NEXT is in force
//              done SEAM ID KNOB NAME                    the original, or a value of another writer, is in force again
//              plant SEAM ID KNOB VALUE NAME             systemd has a drop-in of ours while it contains VALUE
//              pull SEAM ID KNOB NAME                    the drop-in was removed, or another writer owns it
//          <state_dir>/lock: "BOOT_ID BYTES\n", the minimum size of the record. It reveals a truncated or missing file,
//          and distinguishes it from a last line that was being written when the process was killed.
// Rules    a kernel file changes only after its line is written: kill -9 leaves the line in the page cache, and a
//          reboot clears the limits as well. Each `write` repeats the original: one complete line of a knob is enough.
//          A damaged line does not count; the lines after it do, and damage() reports it until the file is removed.
//          The file is rewritten when it grows large, unless it is damaged.
// Errors   conflict: another process has held the journal for a second; io
// Threads  single owner
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "actuator/limits.hpp"
#include "actuator/os.hpp"
#include "common/dir.hpp"

namespace wattle::actuator {

struct Record {
  std::int64_t original = 0;
  std::int64_t before = 0, next = 0;  // written by us; equal once a write is settled

  bool ours(std::int64_t value) const { return value == before || value == next; }
  bool operator==(const Record&) const = default;
};

class Records {
 public:
  using PerKnob = std::array<std::optional<Record>, kKnobs.size()>;
  using Map = std::map<Target, PerKnob>;
  const Map& all() const { return map_; }
  const Record* find(const Target& target, Knob knob) const;
  std::optional<Record>& at(const Target& target, Knob knob) { return map_[target][static_cast<std::size_t>(knob)]; }
  void drop(const Target& target, Knob knob);

 private:
  Map map_;
};

// Drop-ins that we caused, and the value that each keeps after we are done.
using Planted = std::map<std::pair<Target, Knob>, std::int64_t>;

struct JournalText {
  std::string boot;
  Records records;
  Planted planted;
  std::size_t damaged = 0;     // lines that are ignored, including an unfinished last one
  std::size_t unfinished = 0;  // length in bytes of a last line without its newline, which is ignored
};
// Pure; accepts any bytes.
JournalText parse_journal(std::string_view text);

class Journal {
 public:
  // Creates the folder and the file if they are missing. Discards a record of another boot.
  static Result<Journal> open_(const std::string& state_dir, const std::string& boot, Os& os);

  // Checks a record for damage without taking the lock; no value if it is intact, missing or of another boot.
  static std::optional<Error> damage_at(const std::string& state_dir, const std::string& boot);

  const Records& records() const { return records_; }
  // If set, some originals are unknown, and a limit in force may be ours although no record says so.
  const std::optional<Error>& damage() const { return damage_; }

  Status take(const Target& target, Knob knob, std::int64_t original);
  // Records that the knob will change from `current` to `next`.
  Status intend(const Target& target, Knob knob, std::int64_t current, std::int64_t next);
  // Records the result of the intended write; do not call while the result is unknown.
  void settle(const Target& target, Knob knob, bool written);
  Status done(const Target& target, Knob knob);
  const Planted& planted() const { return planted_; }
  // Not synced: the next `take` syncs it.
  Status plant(const Target& target, Knob knob, std::int64_t value);
  Status pull(const Target& target, Knob knob);

 private:
  Journal(Fd lock, Fd file, std::string path, std::string boot, Os& os);
  Status append(const std::string& body, bool durable);
  Status compact();
  // Writes to the lock's file that the record has at least this size.
  Status note_size(std::size_t bytes);

  Fd lock_, file_;
  std::string path_, boot_;
  Os* os_;
  Records records_;
  Planted planted_;
  std::optional<Error> damage_;
  std::size_t bytes_ = 0;
  bool ragged_ = false;  // the last line has no newline
};

}  // namespace wattle::actuator
