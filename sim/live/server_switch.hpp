// server_switch: the power of a simulated server that an operator turns off and on: it runs, shuts down, is off, boots.
// Source   published joules and times of a shutdown and a boot, and watts while off (placement/sleep/transition_cost)
// Time     a transition takes its published time divided by `speedup`, but the published joules
// Units    in names
// Errors   none: an order that changes nothing is accepted, as by a BMC
// Threads  single owner
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/clock.hpp"

namespace wattle::sim::live {

class ServerSwitch {
 public:
  enum class State : std::uint8_t { on, stopping, off, booting };
  static constexpr std::array<std::string_view, 4> kNames{"on", "stopping", "off", "booting"};

  explicit ServerSwitch(double speedup = 1) : speedup_(speedup) {}
  State state() const { return state_; }
  static constexpr std::string_view name_of(State state) { return kNames[static_cast<std::size_t>(state)]; }
  // Begins a shutdown. A server that is booting finishes that first and stays on.
  void turn_off(MonoTime now);
  // Begins a boot; during a shutdown, the boot follows it.
  void turn_on(MonoTime now);
  // End of the current transition; MonoTime::max() if there is none.
  MonoTime next() const { return until_; }
  // Enters the state that begins at next(), if that time has come. Returns whether the server now runs again.
  bool pass(MonoTime now);
  // While it does not run.
  double power_w() const;
  std::uint64_t shutdowns() const { return shutdowns_; }
  std::uint64_t boots() const { return boots_; }

  static double shutdown_j();
  static double boot_j();
  static double off_w();
  double boot_s() const;

 private:
  void boot(MonoTime now);
  double speedup_;
  State state_ = State::on;
  MonoTime until_ = MonoTime::max();
  bool boot_next_ = false;  // after the current shutdown
  std::uint64_t shutdowns_ = 0, boots_ = 0;
};

}  // namespace wattle::sim::live
