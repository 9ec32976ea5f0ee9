#include "agent/power/rtc_alarm.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr const char* kAlarmFix = "allow the agent to write it, see docs/how-to/prepare-nodes-for-sleep.md";
constexpr const char* kNoAlarmFix = "let a power driver of the controller put this node to sleep";
constexpr std::uint64_t kOneDay_s = 86'400 - 60;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}
}  // namespace

// An empty file is 0: a clock without an alarm.
Result<std::uint64_t> RtcAlarm::read(const char* name) const {
  const std::string path = dir_ + "/" + name;
  WATTLE_TRY(const std::string text, read_file(path, 64));
  const std::string_view digits = trimmed(text);
  if (digits.empty()) return 0;
  const auto value = parse::u64(digits);
  if (!value) return fail(Errc::malformed, path, "is not a number of seconds");
  return *value;
}

Status RtcAlarm::write(std::uint64_t at_s) const {
  const std::string path = dir_ + "/wakealarm";
  const Fd file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  const std::string text = std::to_string(at_s) + "\n";
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno(errno, path, kAlarmFix);
  return {};
}

Status RtcAlarm::check() const {
  const std::string path = dir_ + "/wakealarm";
  if (::access(path.c_str(), F_OK) != 0)
    return fail(Errc::unsupported, path, "this machine's clock has no alarm", kNoAlarmFix);
  const auto wakes = read_file(dir_ + "/device/power/wakeup", 64);
  if (wakes && trimmed(*wakes) == "disabled")
    return fail(Errc::unsupported, dir_ + "/device/power/wakeup", "is disabled, so that the alarm would not wake",
                "write enabled to it at boot, see docs/how-to/prepare-nodes-for-sleep.md");
  if (::access(path.c_str(), W_OK) != 0) return fail_errno(errno, path, kAlarmFix);
  WATTLE_CHECK(read("since_epoch"));
  return {};
}

Status RtcAlarm::arm(std::uint64_t after_s) {
  WATTLE_CHECK(check());
  WATTLE_TRY(const std::uint64_t now_s, read("since_epoch"));
  if (after_s == 0 || after_s > std::numeric_limits<std::uint32_t>::max())
    return fail(Errc::out_of_range, "wake_after_s", std::to_string(after_s) + " s is not a possible time until a wake");
  const std::uint64_t at_s = now_s + after_s;
  WATTLE_TRY(const std::uint64_t before_s, read("wakealarm"));
  if (!armed_ && before_s > now_s && before_s <= at_s) return {};
  // The kernel accepts no alarm while one is set.
  if (before_s != 0) WATTLE_CHECK(write(0));
  armed_ = true;
  Status armed = set(at_s);
  if (!armed && after_s > kOneDay_s) armed = set(now_s + kOneDay_s);
  if (!armed) disarm();
  return armed;
}

// Writes the alarm and reads it back.
Status RtcAlarm::set(std::uint64_t at_s) const {
  WATTLE_CHECK(write(at_s));
  WATTLE_TRY(const std::uint64_t kept_s, read("wakealarm"));
  if (kept_s == at_s) return {};
  return fail(Errc::conflict, dir_ + "/wakealarm",
              "has " + std::to_string(kept_s) + " after " + std::to_string(at_s) + " was written", kNoAlarmFix);
}

void RtcAlarm::disarm() {
  if (std::exchange(armed_, false)) static_cast<void>(write(0));
}

}  // namespace wattle::agent
