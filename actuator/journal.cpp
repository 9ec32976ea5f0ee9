#include "actuator/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

#include "common/digest.hpp"
#include "common/parse.hpp"

namespace wattle::actuator {

namespace {
constexpr std::size_t kCompactBytes = 1 << 20;
constexpr std::size_t kMaxBytes = 64 << 20;
constexpr std::size_t kDigits = 16, kSizeDigits = 12;

std::string line_of(const std::string& body) { return sha256_hex(body).substr(0, kDigits) + " " + body + "\n"; }

std::string key_of(const Target& target, Knob knob) {
  return std::string(" ") + kSeamNames[static_cast<std::size_t>(target.seam)] + " " + std::to_string(target.id) + " " +
         kKnobNames[static_cast<std::size_t>(knob)] + " ";
}

std::string_view take_word(std::string_view& text) {
  const auto end = text.find(' ');
  const auto word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

template <class Enum, std::size_t N>
std::optional<Enum> named(const std::array<const char*, N>& names, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i)
    if (word == names[i]) return static_cast<Enum>(i);
  return std::nullopt;
}

// After a kill, the lock is held for a moment longer, until the helper process for systemd has ended too.
bool locked(int fd) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) ::usleep(50'000);
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  }
  return false;
}

// Size of the record according to <state_dir>/lock.
struct NotedSize {
  std::string boot;
  std::uint64_t bytes = 0;
};

std::optional<NotedSize> read_noted(const std::string& lock_path) {
  const auto text = read_file(lock_path, 256);
  if (!text) return std::nullopt;
  std::string_view line = parse::trim(*text);
  NotedSize noted{std::string(take_word(line)), 0};
  const auto bytes = parse::u64(line);
  if (noted.boot.empty() || !bytes) return std::nullopt;
  noted.bytes = *bytes;
  return noted;
}

// A record whose first line is damaged counts as of this boot unless the note disagrees; targets that no longer exist
// are not written to.
bool of_this_boot(const JournalText& parsed, const std::optional<NotedSize>& noted, const std::string& boot) {
  if (!parsed.boot.empty()) return parsed.boot == boot;
  return noted ? noted->boot == boot : parsed.damaged > 0;
}

std::optional<Error> damage_of(const JournalText& parsed, std::size_t size, const std::optional<NotedSize>& noted,
                               const std::string& path, const std::string& boot) {
  if (!of_this_boot(parsed, noted, boot)) return std::nullopt;
  const bool noted_now = noted && noted->boot == boot;
  // The process was killed while writing the last line, and so before it wrote the kernel's file.
  const bool killed = noted_now && parsed.unfinished > 0 && size - parsed.unfinished >= noted->bytes;
  std::string what;
  if (killed && parsed.damaged == 1 && !parsed.boot.empty())
    return std::nullopt;
  else if (parsed.damaged > 0)
    what = std::to_string(parsed.damaged) + (parsed.damaged == 1 ? " line is" : " lines are") + " damaged";
  else if (noted_now && size < noted->bytes)
    what = "is truncated: it has " + std::to_string(size) + " of " + std::to_string(noted->bytes) + " bytes";
  else if (parsed.boot.empty())
    what = "its first line is missing";
  else
    return std::nullopt;
  const std::string folder = path.substr(0, path.rfind('/'));
  return Error{Errc::malformed, path,
               what + ", so Wattle may have set some limits without a record of the original limits",
               "check and correct CPU quotas, bursts and memory.high of your workloads, then remove " + path + " and " +
                   folder + "/lock"};
}

// Returns false if the digest is correct but the line is not valid.
bool take_line(std::string_view body, JournalText& out) {
  const auto verb = take_word(body);
  if (verb == "boot") {
    out.boot = body;
    return true;
  }
  const bool one = verb == "take" || verb == "plant", none = verb == "done" || verb == "pull";
  const std::size_t count = one ? 1 : none ? 0 : verb == "write" ? 2 : 3;
  const auto seam = named<Seam>(kSeamNames, take_word(body));
  const auto id = parse::u64(take_word(body));
  const auto knob = named<Knob>(kKnobNames, take_word(body));
  if (count > 2 || !seam || !id || !knob) return false;
  std::array<std::int64_t, 2> numbers{};
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = parse::integer<std::int64_t>(take_word(body));
    if (!number || *number < 0) return false;
    numbers[i] = *number;
  }
  // Names begin with a slash.
  std::optional<std::int64_t> original;
  if (verb == "write" && !body.starts_with('/')) {
    original = parse::integer<std::int64_t>(take_word(body));
    if (!original || *original < 0) return false;
  }
  if (body.empty()) return false;
  const Target target{*seam, std::string(body), *id};
  if (verb == "take") {
    out.records.at(target, *knob) = Record{numbers[0], numbers[0], numbers[0]};
  } else if (verb == "done") {
    out.records.drop(target, *knob);
  } else if (verb == "plant") {
    out.planted[{target, *knob}] = numbers[0];
  } else if (verb == "pull") {
    out.planted.erase({target, *knob});
  } else {
    auto& record = out.records.at(target, *knob);
    if (!record && !original) {
      out.records.drop(target, *knob);  // removes the entry that at() created
      return false;
    }
    record = Record{original ? *original : record->original, numbers[0], numbers[1]};
  }
  return true;
}
}  // namespace

const Record* Records::find(const Target& target, Knob knob) const {
  const auto found = map_.find(target);
  if (found == map_.end()) return nullptr;
  const auto& record = found->second[static_cast<std::size_t>(knob)];
  return record ? &*record : nullptr;
}

void Records::drop(const Target& target, Knob knob) {
  const auto found = map_.find(target);
  if (found == map_.end()) return;
  found->second[static_cast<std::size_t>(knob)].reset();
  if (std::ranges::none_of(found->second, [](const auto& record) { return record.has_value(); })) map_.erase(found);
}

JournalText parse_journal(std::string_view text) {
  JournalText out;
  parse::for_each_line(text, [&](std::string_view line) {
    if (line.empty()) return;
    const bool whole = line.size() > kDigits + 1 && line[kDigits] == ' ' &&
                       sha256_hex(line.substr(kDigits + 1)).substr(0, kDigits) == line.substr(0, kDigits);
    if (whole && take_line(line.substr(kDigits + 1), out)) return;
    ++out.damaged;
    if (line.data() + line.size() == text.data() + text.size()) out.unfinished = line.size();
  });
  return out;
}

Journal::Journal(Fd lock, Fd file, std::string path, std::string boot, Os& os)
    : lock_(std::move(lock)), file_(std::move(file)), path_(std::move(path)), boot_(std::move(boot)), os_(&os) {}

Result<Journal> Journal::open_(const std::string& state_dir, const std::string& boot, Os& os) {
  WATTLE_CHECK(make_dirs(state_dir, 0750));
  const std::string path = state_dir + "/originals", lock_path = state_dir + "/lock";
  // A separate file, because the journal's own is replaced when it grows large.
  Fd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return fail_errno(errno, lock_path);
  if (!locked(lock.get()))
    return fail(Errc::conflict, lock_path, "another wattle-actuator uses it",
                "stop that process first: it restores the original limits");
  const auto noted = read_noted(lock_path);
  std::string text;
  if (auto there = read_file(path, kMaxBytes))
    text = std::move(*there);
  else if (there.error().code != Errc::not_found)
    return forward_error(there);
  JournalText parsed = parse_journal(text);
  auto damage = damage_of(parsed, text.size(), noted, path, boot);
  const bool void_ = !of_this_boot(parsed, noted, boot);
  if (void_) {
    text = line_of("boot " + boot);
    WATTLE_CHECK(os.replace(path, text));
  }
  Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return fail_errno(errno, path);
  Journal journal(std::move(lock), std::move(file), path, boot, os);
  if (!void_) {
    journal.records_ = std::move(parsed.records);
    journal.planted_ = std::move(parsed.planted);
  }
  journal.damage_ = std::move(damage);
  journal.bytes_ = text.size();
  journal.ragged_ = !text.empty() && text.back() != '\n';
  if (!journal.damage_ && !void_ && parsed.unfinished > 0 &&
      ::ftruncate(journal.file_.get(), static_cast<off_t>(text.size() - parsed.unfinished)) == 0) {
    journal.bytes_ -= parsed.unfinished;
    journal.ragged_ = false;
  }
  if (!journal.damage_) WATTLE_CHECK(journal.note_size(journal.bytes_));
  return journal;
}

std::optional<Error> Journal::damage_at(const std::string& state_dir, const std::string& boot) {
  const std::string path = state_dir + "/originals";
  const auto noted = read_noted(state_dir + "/lock");
  const auto text = read_file(path, kMaxBytes);
  if (!text && text.error().code != Errc::not_found) return text.error();
  return damage_of(parse_journal(text ? *text : ""), text ? text->size() : 0, noted, path, boot);
}

Status Journal::note_size(std::size_t bytes) {
  // Fixed width, so that a shorter number overwrites all digits of a longer one.
  std::string number = std::to_string(bytes);
  number.insert(0, kSizeDigits - std::min(kSizeDigits, number.size()), '0');
  const std::string line = boot_ + " " + number + "\n";
  if (::pwrite(lock_.get(), line.data(), line.size(), 0) != static_cast<ssize_t>(line.size()))
    return fail_errno(errno, path_.substr(0, path_.rfind('/')) + "/lock",
                      "free disk space: the actuator writes no limit without a record");
  return {};
}

Status Journal::append(const std::string& body, bool durable) {
  // A damaged file is kept unchanged for inspection.
  if (bytes_ > kCompactBytes && !damage_) WATTLE_CHECK(compact());
  const std::string line = (ragged_ ? "\n" : "") + line_of(body);
  const ssize_t n = os_->append(file_.get(), line);
  if (n < 0)
    return fail_errno(static_cast<int>(-n), path_, "free disk space: the actuator writes no limit without a record");
  bytes_ += static_cast<std::size_t>(n);
  if (static_cast<std::size_t>(n) != line.size()) {
    // The rest of a partial line would look like damage later.
    if (::ftruncate(file_.get(), static_cast<off_t>(bytes_ - static_cast<std::size_t>(n))) == 0)
      bytes_ -= static_cast<std::size_t>(n);
    else
      ragged_ = true;
    return fail(Errc::exhausted, path_, "was not written completely",
                "free disk space: the actuator writes no limit without a record");
  }
  ragged_ = false;
  if (!damage_) WATTLE_CHECK(note_size(bytes_));
  if (!durable) return {};
  if (const int failed = os_->sync(file_.get()); failed < 0) return fail_errno(-failed, path_);
  return {};
}

Status Journal::compact() {
  std::string text = line_of("boot " + boot_);
  for (const auto& [target, knobs] : records_.all())
    for (const Knob knob : kKnobs)
      if (const auto& record = knobs[static_cast<std::size_t>(knob)]) {
        text += line_of("take" + key_of(target, knob) + std::to_string(record->original) + " " + target.name);
        text += line_of("write" + key_of(target, knob) + std::to_string(record->before) + " " +
                        std::to_string(record->next) + " " + std::to_string(record->original) + " " + target.name);
      }
  for (const auto& [where, value] : planted_)
    text += line_of("plant" + key_of(where.first, where.second) + std::to_string(value) + " " + where.first.name);
  // Written first: the larger old file satisfies this size, too.
  WATTLE_CHECK(note_size(text.size()));
  WATTLE_CHECK(os_->replace(path_, text));
  Fd file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return fail_errno(errno, path_);
  file_ = std::move(file);
  bytes_ = text.size();
  ragged_ = false;
  return {};
}

Status Journal::take(const Target& target, Knob knob, std::int64_t original) {
  if (target.name.empty() || target.name.find('\n') != std::string::npos)
    return fail(Errc::malformed, "workload", "the name is empty or contains a line break", "use another name");
  WATTLE_CHECK(append("take" + key_of(target, knob) + std::to_string(original) + " " + target.name, true));
  records_.at(target, knob) = Record{original, original, original};
  return {};
}

Status Journal::intend(const Target& target, Knob knob, std::int64_t current, std::int64_t next) {
  auto& record = records_.at(target, knob);
  assert(record && record->ours(current));
  WATTLE_CHECK(append("write" + key_of(target, knob) + std::to_string(current) + " " + std::to_string(next) + " " +
                          std::to_string(record->original) + " " + target.name,
                      false));
  record->before = current;
  record->next = next;
  return {};
}

void Journal::settle(const Target& target, Knob knob, bool written) {
  auto& record = records_.at(target, knob);
  assert(record);
  (written ? record->before : record->next) = written ? record->next : record->before;
}

Status Journal::done(const Target& target, Knob knob) {
  records_.drop(target, knob);
  std::string body = "done" + key_of(target, knob) + target.name;
  return append(body, false);
}

Status Journal::plant(const Target& target, Knob knob, std::int64_t value) {
  WATTLE_CHECK(append("plant" + key_of(target, knob) + std::to_string(value) + " " + target.name, false));
  planted_[{target, knob}] = value;
  return {};
}

Status Journal::pull(const Target& target, Knob knob) {
  planted_.erase({target, knob});
  return append("pull" + key_of(target, knob) + target.name, false);
}

}  // namespace wattle::actuator
