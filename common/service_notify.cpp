#include "common/service_notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "common/parse.hpp"

namespace wattle {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : std::string_view();
}

// A third of the watchdog's timeout; zero if the watchdog is meant for another process.
Duration span_of_watchdog() {
  const auto span_us = parse::u64(variable("WATCHDOG_USEC"));
  const std::string_view of = variable("WATCHDOG_PID");
  constexpr std::uint64_t kMost_us = 86'400'000'000;
  if (!span_us || *span_us > kMost_us || (!of.empty() && parse::u64(of) != static_cast<std::uint64_t>(::getpid())))
    return Duration(0);
  return std::chrono::microseconds(*span_us) / 3;
}

}  // namespace

ServiceNotify::ServiceNotify() : manager_(variable("NOTIFY_SOCKET")), reported_ns_(kNever) {
  // A path, or "@" and an abstract name.
  const bool usable = manager_.size() > 1 && manager_.size() < sizeof(sockaddr_un::sun_path) &&
                      (manager_.front() == '/' || manager_.front() == '@');
  if (usable) socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket_.valid()) every_ = span_of_watchdog();
}

void ServiceNotify::send(const std::string& message, bool wait) const {
  if (!socket_.valid()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  manager_.copy(address.sun_path, manager_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + manager_.size());
  [[maybe_unused]] const auto sent =
      ::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT),
               reinterpret_cast<const sockaddr*>(&address), size);
}

void ServiceNotify::ready(const std::string& status) const { send("READY=1\nSTATUS=" + status, true); }

void ServiceNotify::stopping() const { send("STOPPING=1", false); }

void ServiceNotify::alive(MonoTime now) {
  if (every_ == Duration(0)) return;
  std::int64_t reported = reported_ns_.load(std::memory_order_relaxed);
  // Half the period, so that a slightly early call still counts.
  if (reported != kNever && to_ns(now) - reported < every_.count() / 2) return;
  if (reported_ns_.compare_exchange_strong(reported, to_ns(now), std::memory_order_relaxed)) send("WATCHDOG=1", false);
}

}  // namespace wattle
