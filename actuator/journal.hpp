// journal: what was there before we came, written down before the first write, so that whatever dies it can be put back.
// Source   <state_dir>/originals: one line a change, "<16 hex digits of the rest's SHA-256> <rest>\n", only appended to:
//              boot BOOT_ID                              the limits below live as long as this boot, and so does their record
//              take SEAM ID KNOB ORIGINAL NAME           on disk before the knob is written for the first time
//              write SEAM ID KNOB BEFORE NEXT NAME       before every write: until it is settled the kernel has one of the two
//              done SEAM ID KNOB NAME                    what was there is there again, or somebody else's value is
//              plant SEAM ID KNOB VALUE NAME             systemd keeps a drop-in since we came, which is ours while it says VALUE
//              pull SEAM ID KNOB NAME                    it does not any more, or it is somebody else's
//          A line that is torn or damaged does not count; what follows it does. The file is written anew when it grows large.
// Rules    a kernel file changes only after the line that says so is written: kill -9 leaves it in the page cache, and a machine
//          that goes down takes the limits with it
// Errors   conflict: another process has the journal, and kept it for a second; io
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
  std::int64_t before = 0, next = 0;  // ours; the same once a write is settled

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

// The drop-ins that are there because of us, and what they say once we are done.
using Planted = std::map<std::pair<Target, Knob>, std::int64_t>;

struct JournalText {
  std::string boot;
  Records records;
  Planted planted;
  std::size_t damaged = 0;  // lines that did not count
};
// Pure; any bytes.
JournalText parse_journal(std::string_view text);

class Journal {
 public:
  // Makes the folder and the file where they are missing. A record of another boot is void.
  static Result<Journal> open_(const std::string& state_dir, const std::string& boot, Os& os);

  const Records& records() const { return records_; }
  std::size_t damaged() const { return damaged_; }

  Status take(const Target& target, Knob knob, std::int64_t original);
  // `current` is there now.
  Status intend(const Target& target, Knob knob, std::int64_t current, std::int64_t next);
  // How the write that was intended went; not called where nobody knows yet.
  void settle(const Target& target, Knob knob, bool written);
  Status done(const Target& target, Knob knob);
  const Planted& planted() const { return planted_; }
  // On its way to the disk: `take` brings it there.
  Status plant(const Target& target, Knob knob, std::int64_t value);
  Status pull(const Target& target, Knob knob);

 private:
  Journal(Fd lock, Fd file, std::string path, std::string boot, Os& os);
  Status append(const std::string& body, bool durable);
  Status compact();

  Fd lock_, file_;
  std::string path_, boot_;
  Os* os_;
  Records records_;
  Planted planted_;
  std::size_t damaged_ = 0;
  std::size_t bytes_ = 0;
  bool ragged_ = false;  // the last line has no end
};

}  // namespace wattle::actuator
