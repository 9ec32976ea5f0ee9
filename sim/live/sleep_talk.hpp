// sleep_talk: the part of the sleep protocol that a simulated node's agent implements: it says goodbye when its records
// have arrived. The node's switch then turns it off.
// Order    as agent/power/node_sleep: not granted: holds back new records until the others are acknowledged, and says
//          goodbye with the order's number; repeated: says it again; "awake", another order, or a minute without the
//          end of the conversation: continues as before
// Refuses  an order by which the agent itself would turn the node off
// Errors   none: they become the reason of a goodbye
// Threads  single owner
#pragma once

#include <optional>

#include "common/clock.hpp"
#include "common/transport/session.hpp"
#include "common/wire/messages.hpp"

namespace wattle::sim::live {

class SleepTalk {
 public:
  // Call after each pump of the session.
  void step(transport::AgentSession& session, MonoTime now);

 private:
  void on_order(transport::AgentSession& session, const wire::SleepOrder& order, MonoTime now);
  void end(transport::AgentSession& session);

  std::optional<wire::SleepOrder> order_;
  bool said_ = false;
  MonoTime until_{};
};

}  // namespace wattle::sim::live
