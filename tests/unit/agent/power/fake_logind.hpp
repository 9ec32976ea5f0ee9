// fake_logind: a D-Bus of its own below a directory, in the place of the system bus, with a login manager that has the
// methods of org.freedesktop.login1.Manager that the agent uses. The bus is a real dbus-daemon.
#pragma once

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/patience.hpp"

namespace wattle::agent::test {

struct Inhibitor {
  std::string what, who, why, mode;
};

class FakeLogind {
 public:
  explicit FakeLogind(const std::string& root) : socket_(root + "/run/dbus/system_bus_socket") {
    std::filesystem::create_directories(root + "/run/dbus");
    start_bus(root + "/bus.conf");
    server_ = std::thread([this] { serve(); });
    REQUIRE(tests::wait_until([&] { return serves_.load(); }, tests::late()));
  }
  FakeLogind(const FakeLogind&) = delete;
  FakeLogind& operator=(const FakeLogind&) = delete;
  ~FakeLogind() {
    stop();
    ::kill(bus_, SIGKILL);
    ::waitpid(bus_, nullptr, 0);
  }
  const std::string& socket() const { return socket_; }
  // Ends the login manager; the bus stays.
  void stop() {
    stop_ = true;
    if (server_.joinable()) server_.join();
  }
  // Sets the answers from now on: `can` to CanSuspend and CanPowerOff, the D-Bus error `error` to Suspend and PowerOff.
  // "never": no answer, but the order takes effect.
  void can(const std::string& method, const std::string& answer) {
    const std::lock_guard lock(mutex_);
    can_[method] = answer;
  }
  void error(const std::string& name) {
    const std::lock_guard lock(mutex_);
    error_ = name;
  }
  void inhibit(std::vector<Inhibitor> inhibitors) {
    const std::lock_guard lock(mutex_);
    inhibitors_ = std::move(inhibitors);
  }
  // Calls of Suspend and PowerOff, in order.
  std::vector<std::string> ordered() const {
    const std::lock_guard lock(mutex_);
    return ordered_;
  }

 private:
  void start_bus(const std::string& config) {
    std::ofstream(config) << "<busconfig><type>custom</type><listen>unix:path=" << socket_
                          << "</listen><auth>EXTERNAL</auth><policy context=\"default\"><allow own=\"*\"/><allow "
                             "send_destination=\"*\"/><allow receive_sender=\"*\"/></policy></busconfig>";
    bus_ = ::fork();
    REQUIRE(bus_ >= 0);
    if (bus_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      ::execlp("dbus-daemon", "dbus-daemon", "--nofork", ("--config-file=" + config).c_str(), nullptr);
      ::_exit(127);
    }
    REQUIRE_MESSAGE(tests::wait_until([&] { return std::filesystem::exists(socket_); }, tests::late()),
                    "dbus-daemon listens (scripts/setup installs it)");
  }
  static int take(sd_bus_message* message, void* self, sd_bus_error*) {
    auto& logind = *static_cast<FakeLogind*>(self);
    const char* interface = sd_bus_message_get_interface(message);
    const char* member = sd_bus_message_get_member(message);
    if (interface == nullptr || std::strcmp(interface, "org.freedesktop.login1.Manager") != 0 || member == nullptr)
      return 0;
    const std::lock_guard lock(logind.mutex_);
    const std::string method = member;
    if (method == "ListInhibitors") return logind.list(message);
    if (const auto can = logind.can_.find(method); can != logind.can_.end())
      return can->second == "never" ? 1 : sd_bus_reply_method_return(message, "s", can->second.c_str());
    if (method != "Suspend" && method != "PowerOff") return 0;
    int interactive = 1;
    if (sd_bus_message_read(message, "b", &interactive) <= 0 || interactive != 0)
      return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_INVALID_ARGS, "not interactive, please");
    if (logind.error_ == "never") {
      logind.ordered_.push_back(method);
      return 1;
    }
    if (!logind.error_.empty()) return sd_bus_reply_method_errorf(message, logind.error_.c_str(), "Refused by a test.");
    logind.ordered_.push_back(method);
    return sd_bus_reply_method_return(message, "");
  }
  int list(sd_bus_message* message) const {
    sd_bus_message* reply = nullptr;
    if (sd_bus_message_new_method_return(message, &reply) < 0) return -1;
    sd_bus_message_open_container(reply, 'a', "(ssssuu)");
    for (const Inhibitor& one : inhibitors_)
      sd_bus_message_append(reply, "(ssssuu)", one.what.c_str(), one.who.c_str(), one.why.c_str(), one.mode.c_str(), 0U,
                            4711U);
    sd_bus_message_close_container(reply);
    const int sent = sd_bus_send(nullptr, reply, nullptr);
    sd_bus_message_unref(reply);
    return sent < 0 ? sent : 1;
  }
  // Returns null until the daemon listens, which is after its socket appears.
  sd_bus* connected() {
    sd_bus* bus = nullptr;
    const std::string address = "unix:path=" + socket_;
    if (sd_bus_new(&bus) >= 0 && sd_bus_set_address(bus, address.c_str()) >= 0 && sd_bus_set_bus_client(bus, 1) >= 0 &&
        sd_bus_start(bus) >= 0 && sd_bus_add_filter(bus, nullptr, take, this) >= 0 &&
        sd_bus_request_name(bus, "org.freedesktop.login1", 0) >= 0)
      return bus;
    sd_bus_close_unref(bus);
    return nullptr;
  }
  void serve() {
    sd_bus* bus = nullptr;
    if (!tests::wait_until([&] { return (bus = connected()) != nullptr; }, tests::late())) return;
    serves_ = true;
    constexpr std::uint64_t kLook_us = 20'000;
    while (!stop_)
      if (sd_bus_process(bus, nullptr) == 0) sd_bus_wait(bus, kLook_us);
    sd_bus_close_unref(bus);
  }

  const std::string socket_;
  pid_t bus_ = -1;
  std::thread server_;
  std::atomic<bool> serves_{false}, stop_{false};
  mutable std::mutex mutex_;
  std::map<std::string, std::string> can_{{"CanSuspend", "yes"}, {"CanPowerOff", "yes"}};
  std::vector<Inhibitor> inhibitors_;
  std::string error_;
  std::vector<std::string> ordered_;
};

}  // namespace wattle::agent::test
