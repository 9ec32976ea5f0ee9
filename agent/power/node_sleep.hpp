// node_sleep: follows the controller's sleep orders for this node.
// Order    not granted: checks whether the node can sleep, waits until the records are acknowledged, and says goodbye,
//          or says why not. Granted: puts the node to sleep if the order leaves that to the agent, and sends nothing
//          until the node has slept. Cancelled (kCancelled): continues as before
// After    the end of a sleep, or kSleepPatience without one, starts a new conversation; without a sleep it begins with
//          the reason. Without a grant within kGrantPatience, or when the conversation ends, the agent continues as
//          before
// Shallow  an order of this depth changes only the node's energy settings (shallow_depth.hpp), for wake_after_s; 0 ends
//          it, and so does the end of the conversation. It needs neither goodbye nor grant, and gets no answer. Every
//          other order ends it first
// Rules    the configuration decides whether the agent may put the node to sleep. A grant without a goodbye of the same
//          order in this conversation counts as an order that is not granted
// Errors   none: each becomes the reason of a goodbye
// Threads  single owner; blocks until logind answers
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/power/logind.hpp"
#include "agent/power/rtc_alarm.hpp"
#include "agent/power/shallow_depth.hpp"
#include "agent/power/sleep_config.hpp"
#include "agent/roots.hpp"
#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/transport/session.hpp"
#include "common/wire/messages.hpp"

namespace wattle::agent {

inline constexpr Duration kFlushPatience = std::chrono::seconds(15);
inline constexpr Duration kGrantPatience = std::chrono::minutes(1);
inline constexpr Duration kSleepPatience = std::chrono::minutes(3);
inline constexpr std::string_view kCancelled = "awake";  // on the wire, instead of a depth
inline constexpr const char* kSystemBus = "/run/dbus/system_bus_socket";

class NodeSleep {
 public:
  // `suspended` returns the time for which the machine has been suspended since its start (common/boot_time.hpp).
  NodeSleep(SleepConfig config, const Roots& roots, const std::string& state_dir, std::function<Duration()> suspended,
            const Clock& clock, const Log& log);
  // Call after each pump of the session.
  void step(transport::AgentSession& session);
  // Call at each sample; no value: unknown.
  void used(std::optional<double> used_cores, std::optional<double> cores) { shallow_.used(used_cores, cores); }

 private:
  enum class Phase : std::uint8_t { idle, flushing, ready, silent };

  void on_order(transport::AgentSession& session, const wire::SleepOrder& order);
  void on_shallow(const wire::SleepOrder& order);
  Status prepare(const wire::SleepOrder& order);
  void flush(transport::AgentSession& session);
  void begin(transport::AgentSession& session);
  void watch(transport::AgentSession& session);
  bool woke(transport::AgentSession& session);
  void refuse(transport::AgentSession& session, const std::string& why);
  void give_up();

  const SleepConfig config_;
  const Logind logind_;
  RtcAlarm alarm_;
  ShallowDepth shallow_;
  const std::function<Duration()> suspended_;
  const Clock& clock_;
  const Log& log_;
  Phase phase_ = Phase::idle;
  wire::SleepOrder order_;  // the order of the current phase
  MonoTime until_{};        // end of the phase
  Duration suspended_before_{};
  std::optional<wire::Goodbye> unsaid_;  // sent in the next conversation
  std::string not_shallow_;              // last reason, which is logged once
};

}  // namespace wattle::agent
