// private_bus: a D-Bus of its own in a KernelTree, in the place of that machine's system bus, with a systemd that has
// the used methods of org.freedesktop.systemd1, by FakeSystemd. Both are processes that can be killed and restarted.
#pragma once

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "actuator/unit_bus.hpp"
#include "fake_systemd.hpp"
#include "tests/patience.hpp"

namespace wattle::actuator::test {

inline bool until(const std::function<bool()>& holds) { return tests::wait_until(holds, tests::late()); }

class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { end(SIGKILL); }
  void start(const std::function<void()>& work) {
    REQUIRE(pid_ < 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    work();
    ::_exit(0);
  }
  // Returns its exit code, or a negative number if a signal ended it.
  int end(int number) {
    if (pid_ < 0) return 0;
    ::kill(pid_, number);
    return wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  bool runs() const { return pid_ >= 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_ = -1;
};

class PrivateBus {
 public:
  PrivateBus(const KernelTree& tree, const FakeSystemd& systemd) : tree_(tree), systemd_(systemd) {
    start_bus();
    start_systemd();
  }
  std::string socket() const { return tree_.path() + "/run/dbus/system_bus_socket"; }
  std::string address() const { return bus_address(socket()); }

  void start_bus() {
    const std::string config = tree_.path() + "/bus.conf";
    overwrite(config, "<busconfig><type>custom</type><listen>unix:path=" + socket() +
                          "</listen><auth>EXTERNAL</auth><policy context=\"default\"><allow own=\"*\"/><allow "
                          "send_destination=\"*\"/>"
                          "<allow receive_sender=\"*\"/></policy></busconfig>");
    std::filesystem::remove(socket());
    bus_.start([&] {
      ::execlp("dbus-daemon", "dbus-daemon", "--nofork", ("--config-file=" + config).c_str(), nullptr);
      ::_exit(127);  // scripts/setup installs it
    });
    REQUIRE_MESSAGE(until([&] { return std::filesystem::exists(socket()) || !bus_.runs(); }), "dbus-daemon listens");
    REQUIRE_MESSAGE(bus_.runs(), "dbus-daemon runs (scripts/setup installs it)");
  }
  void stop_bus() { bus_.end(SIGKILL); }
  void start_systemd() {
    manager_.start([&] { serve(); });
    UnitBus asking(address());
    REQUIRE(until([&] { return asking.cgroup_of("-.slice").has_value(); }));
  }
  void stop_systemd() { manager_.end(SIGKILL); }
  // Sets the answer to SetUnitProperties: "" a normal one; the name of an error; "late": once the mode changes;
  // "never": it exits instead.
  void answer_mode(const std::string& text) const { overwrite(tree_.path() + "/answer_mode", text); }

 private:
  struct Asked {
    std::string path, member;
  };
  static UnitProperty property_named(const std::string& name) {
    if (name == "CPUQuotaPerSecUSec") return UnitProperty::quota;
    return name == "MemoryLow" ? UnitProperty::low : UnitProperty::high;
  }
  int get(sd_bus_message* message) const {
    const char *interface = nullptr, *name = nullptr;
    char* found = nullptr;
    if (sd_bus_message_read(message, "ss", &interface, &name) < 0) return -EINVAL;
    if (sd_bus_path_decode(sd_bus_message_get_path(message), "/org/freedesktop/systemd1/unit", &found) <= 0) return 0;
    const std::string unit = found;
    std::free(found);
    if (std::string(interface) != "org.freedesktop.systemd1.Service" &&
        std::string(interface) != "org.freedesktop.systemd1.Slice")
      return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_UNKNOWN_INTERFACE, "Unknown interface %s.", interface);
    if (std::string(name) == "ControlGroup")
      return sd_bus_reply_method_return(message, "v", "s",
                                        systemd_.runs(unit) ? FakeSystemd::cgroup(unit).c_str() : "");
    // The answer for an unknown unit is that for an empty one.
    return sd_bus_reply_method_return(message, "v", "t",
                                      systemd_.knows(unit) ? systemd_.get(unit, property_named(name)) : kNoLimit);
  }
  int set(sd_bus_message* message) const {
    const char *unit = nullptr, *name = nullptr;
    int runtime = 0;
    std::uint64_t value = 0;
    if (sd_bus_message_read(message, "sb", &unit, &runtime) < 0 ||
        sd_bus_message_enter_container(message, 'a', "(sv)") < 0 ||
        sd_bus_message_enter_container(message, 'r', "sv") < 0 || sd_bus_message_read(message, "s", &name) < 0 ||
        sd_bus_message_read(message, "v", "t", &value) < 0 || runtime != 1)
      return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_INVALID_ARGS, "not as it should be");
    const auto current_mode = [&] { return text_of(tree_.path() + "/answer_mode"); };
    const std::string answer_mode = current_mode();
    if (answer_mode.starts_with("org."))
      return sd_bus_reply_method_errorf(message, answer_mode.c_str(), "Refused by a test.");
    if (answer_mode == "late") static_cast<void>(until([&] { return current_mode() != "late"; }));
    if (!systemd_.knows(unit))
      return sd_bus_reply_method_errorf(message, "org.freedesktop.systemd1.NoSuchUnit", "Unit %s not found.", unit);
    systemd_.set(unit, property_named(name), value);
    if (answer_mode == "never") ::_exit(0);
    return sd_bus_reply_method_return(message, "");
  }
  static int take(sd_bus_message* message, void* self, sd_bus_error*) {
    const auto& bus = *static_cast<const PrivateBus*>(self);
    if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Get") > 0) return bus.get(message);
    if (sd_bus_message_is_method_call(message, "org.freedesktop.systemd1.Manager", "SetUnitProperties") > 0)
      return bus.set(message);
    return 0;
  }
  void serve() {
    sd_bus* bus = nullptr;
    if (sd_bus_new(&bus) < 0 || sd_bus_set_address(bus, address().c_str()) < 0 || sd_bus_set_bus_client(bus, 1) < 0 ||
        sd_bus_start(bus) < 0 || sd_bus_add_filter(bus, nullptr, take, this) < 0 ||
        sd_bus_request_name(bus, "org.freedesktop.systemd1", 0) < 0)
      ::_exit(1);
    for (;;) {
      const int done = sd_bus_process(bus, nullptr);
      if (done < 0) ::_exit(2);
      if (done == 0 && sd_bus_wait(bus, UINT64_MAX) < 0) ::_exit(3);
    }
  }

  const KernelTree& tree_;
  const FakeSystemd& systemd_;
  ChildProcess bus_, manager_;
};

}  // namespace wattle::actuator::test
