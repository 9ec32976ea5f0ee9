#include "agent/power/logind.hpp"

#include <systemd/sd-bus.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "common/bus_address.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr const char* kName = "org.freedesktop.login1";
constexpr const char* kPath = "/org/freedesktop/login1";
constexpr const char* kManager = "org.freedesktop.login1.Manager";
constexpr const char* kRuleFix = "install Wattle's polkit rule for sleep, see docs/how-to/prepare-nodes-for-sleep.md";
constexpr const char* kLogindFix = "check it with systemctl status systemd-logind dbus";

struct DepthCalls {
  const char *can, *go;
  std::string_view inhibited;  // word in an inhibitor's list of what it blocks
  const char* missing;
};
constexpr DepthCalls kSuspendCalls{"CanSuspend", "Suspend", "sleep",
                                   "enable S3 (suspend to RAM) in the BIOS, or allow only the depth off"};
constexpr DepthCalls kOffCalls{"CanPowerOff", "PowerOff", "shutdown", "allow only the depth suspend"};
const DepthCalls& calls_of(SleepDepth depth) { return depth == SleepDepth::suspend ? kSuspendCalls : kOffCalls; }

struct CloseBus {
  void operator()(sd_bus* bus) const { sd_bus_close_unref(bus); }
};
using Bus = std::unique_ptr<sd_bus, CloseBus>;
struct UnrefReply {
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
};
using Reply = std::unique_ptr<sd_bus_message, UnrefReply>;

Result<Bus> connect(const std::string& socket) {
  sd_bus* opened = nullptr;
  int failed = sd_bus_new(&opened);
  Bus bus(opened);
  if (failed >= 0) failed = sd_bus_set_address(opened, bus_address(socket).c_str());
  if (failed >= 0) failed = sd_bus_set_bus_client(opened, 1);
  if (failed >= 0) failed = sd_bus_start(opened);
  if (failed >= 0) return bus;
  const Error why = fail_errno(-failed, socket).value();
  return fail(Errc::unavailable, socket, "D-Bus does not answer: " + why.what, kLogindFix);
}

tl::unexpected<Error> call_failed(int failed, const sd_bus_error& error, const char* method) {
  const std::string_view name = error.name != nullptr ? error.name : "";
  const std::string text = error.message != nullptr ? error.message : fail_errno(-failed, method).value().what;
  const std::string subject = std::string("logind ") + method;
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (ends(".ServiceUnknown") || ends(".NameHasNoOwner") || ends(".Disconnected") || ends(".Spawn.ChildExited"))
    return fail(Errc::unavailable, subject, text, kLogindFix);
  if (ends(".NoReply") || ends(".Timeout") || failed == -ETIMEDOUT)
    return fail(Errc::timeout, subject, text, kLogindFix);
  if (ends(".AccessDenied") || ends(".InteractiveAuthorizationRequired") || failed == -EACCES || failed == -EPERM)
    return fail(Errc::denied, subject, text, kRuleFix);
  if (ends(".OperationInProgress") || ends(".BlockedByInhibitorLock"))
    return fail(Errc::conflict, subject, text, "try again later");
  if (ends(".SleepVerbNotSupported") || ends(".UnknownMethod")) return fail(Errc::unsupported, subject, text);
  return fail(Errc::io, subject, text, kLogindFix);
}

// Calls a method of the manager that has no argument, or one boolean: whether to ask a person for a password (no).
Result<Reply> call(sd_bus* bus, const char* method, bool interactive_argument, std::uint64_t patience_us) {
  sd_bus_message *asked = nullptr, *answered = nullptr;
  sd_bus_error error{nullptr, nullptr, 0};  // SD_BUS_ERROR_NULL is a C compound literal
  int failed = sd_bus_message_new_method_call(bus, &asked, kName, kPath, kManager, method);
  const Reply question(asked);
  constexpr int kNo = 0;
  if (failed >= 0 && interactive_argument) failed = sd_bus_message_append(asked, "b", kNo);
  if (failed >= 0) failed = sd_bus_call(bus, asked, patience_us, &error, &answered);
  Reply answer(answered);
  if (failed >= 0) return answer;
  auto why = call_failed(failed, error, method);
  sd_bus_error_free(&error);
  return why;
}

// Returns whether a list such as "shutdown:sleep" has the word.
bool lists(std::string_view list, std::string_view word) {
  return std::ranges::count(parse::split(list, ':'), word) > 0;
}

Status check_inhibitors(sd_bus* bus, const DepthCalls& calls, std::uint64_t patience_us) {
  WATTLE_TRY(const Reply reply, call(bus, "ListInhibitors", false, patience_us));
  const char *what = nullptr, *who = nullptr, *why = nullptr, *mode = nullptr;
  std::uint32_t uid = 0, pid = 0;
  int read = sd_bus_message_enter_container(reply.get(), 'a', "(ssssuu)");
  while (read >= 0 && (read = sd_bus_message_read(reply.get(), "(ssssuu)", &what, &who, &why, &mode, &uid, &pid)) > 0)
    if (std::string_view(mode) == "block" && lists(what, calls.inhibited))
      return fail(Errc::conflict, std::string("inhibitor of ") + who,
                  "blocks " + std::string(calls.inhibited) + ": " + why + " (process " + std::to_string(pid) + ")",
                  "wait until it ends, or end it: systemd-inhibit --list");
  if (read < 0)
    return fail(Errc::malformed, "logind ListInhibitors", "the answer is not a list of inhibitors", kLogindFix);
  return {};
}
}  // namespace

Status Logind::check(SleepDepth depth) const {
  const DepthCalls& calls = calls_of(depth);
  WATTLE_TRY(const Bus bus, connect(bus_));
  // First, because a blocking inhibitor also changes the answer of the question after it.
  WATTLE_CHECK(check_inhibitors(bus.get(), calls, patience_us_));
  WATTLE_TRY(const Reply reply, call(bus.get(), calls.can, false, patience_us_));
  const char* text = nullptr;
  const std::string subject = std::string("logind ") + calls.can;
  if (sd_bus_message_read(reply.get(), "s", &text) <= 0)
    return fail(Errc::malformed, subject, "the answer is not text");
  const std::string_view can = text;
  if (can == "yes") return {};
  if (can == "na") return fail(Errc::unsupported, subject, "this machine has no such sleep state", calls.missing);
  return fail(Errc::denied, subject,
              "logind answers '" + std::string(can.substr(0, 40)) +
                  "': the agent's user is not permitted to, or a person is logged in",
              kRuleFix);
}

Status Logind::sleep(SleepDepth depth) const {
  WATTLE_TRY(const Bus bus, connect(bus_));
  WATTLE_CHECK(call(bus.get(), calls_of(depth).go, true, patience_us_));
  return {};
}

}  // namespace wattle::agent
