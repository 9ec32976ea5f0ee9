#include "common/service_notify.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "common/dir.hpp"
#include "common/pulse.hpp"

using namespace std::chrono_literals;
using namespace wattle;

namespace {

// systemd's notification socket and its environment.
class Listener {
 public:
  explicit Listener(const char* watchdog_us)
      : path_(std::filesystem::temp_directory_path() / ("wattle-notify-" + std::to_string(::getpid()))),
        socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    std::filesystem::remove(path_);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    if (watchdog_us != nullptr) ::setenv("WATCHDOG_USEC", watchdog_us, 1);
  }
  ~Listener() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    std::filesystem::remove(path_);
  }
  std::vector<std::string> received() const {
    std::vector<std::string> out;
    std::array<char, 512> buffer{};
    for (;;) {
      const auto size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (size < 0) return out;
      out.emplace_back(buffer.data(), static_cast<std::size_t>(size));
    }
  }

 private:
  const std::filesystem::path path_;
  const Fd socket_;
};

}  // namespace

TEST_CASE("systemd is notified of readiness, of the loop's turns a few times per watchdog period, and of the end") {
  const Listener systemd("3000000");
  ServiceNotify notify;
  CHECK(notify.every() == 1s);
  notify.ready("serves");
  CHECK(systemd.received() == std::vector<std::string>{"READY=1\nSTATUS=serves"});
  MonoTime now{};
  std::size_t reported = 0;
  for (int turn = 0; turn < 3000; ++turn, now += 1ms) {
    notify.alive(now);
    reported += systemd.received().size();
  }
  CHECK(reported == 6);
  now += 10s;  // the loop hung: no notification until its first turn
  CHECK(systemd.received().empty());
  notify.alive(now);
  CHECK(systemd.received() == std::vector<std::string>{"WATCHDOG=1"});
  notify.stopping();
  CHECK(systemd.received() == std::vector<std::string>{"STOPPING=1"});
}

TEST_CASE("a manager that no longer reads does not block a loop") {
  const Listener systemd("3000000");
  ServiceNotify notify;
  MonoTime now{};
  for (int turn = 0; turn < 10'000; ++turn, now += 1s) notify.alive(now);  // far more than its queue holds
  CHECK_FALSE(systemd.received().empty());
}

TEST_CASE("a watchdog for another process is ignored") {
  const Listener systemd("3000000");
  ::setenv("WATCHDOG_PID", "1", 1);
  CHECK(ServiceNotify().every() == Duration(0));
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  CHECK(ServiceNotify().every() == 1s);
  ::unsetenv("WATCHDOG_PID");
}

TEST_CASE("without a watchdog, and without systemd, nothing is reported") {
  {
    const Listener systemd(nullptr);
    ServiceNotify notify;
    CHECK(notify.every() == Duration(0));
    notify.alive(MonoTime{});
    CHECK(systemd.received().empty());
  }
  ServiceNotify notify;
  notify.ready("serves");
  notify.alive(MonoTime{});
}

TEST_CASE("a pulse is as old as the loop's last turn") {
  Pulse pulse(MonoTime{} + 1s);
  CHECK(pulse.age(MonoTime{} + 3s) == 2s);
  pulse.beat(MonoTime{} + 3s);
  CHECK(pulse.age(MonoTime{} + 3s) == 0s);
}
