#include "sim/live/sleep_talk.hpp"

namespace wattle::sim::live {

namespace {

constexpr Duration kPatience = std::chrono::minutes(1);
constexpr std::string_view kCancelled = "awake", kShallow = "shallow";  // on the wire, instead of a depth

}  // namespace

void SleepTalk::step(transport::AgentSession& session, MonoTime now) {
  if (!session.status().welcomed) {
    order_.reset();
    return;
  }
  if (const auto order = session.take_sleep_order()) on_order(session, *order, now);
  if (!order_) return;
  if (!said_ && session.flushed()) said_ = session.say({order_->operation, {}});
  if (now >= until_) end(session);
}

void SleepTalk::on_order(transport::AgentSession& session, const wire::SleepOrder& order, MonoTime now) {
  if (order.depth == kShallow) return;
  const bool known = order_ && order_->operation == order.operation;
  if (order.depth == kCancelled) {
    if (known) end(session);
    return;
  }
  if (known) {  // the goodbye may be lost
    if (said_) session.say({order.operation, {}});
    return;
  }
  end(session);
  if (order.by_agent) {
    session.say({order.operation, "a simulated node does not turn itself off: set sleep: exec in sleep.drivers"});
    return;
  }
  order_ = order;
  said_ = false;
  until_ = now + kPatience;
  session.hold();
}

void SleepTalk::end(transport::AgentSession& session) {
  session.release();
  order_.reset();
}

}  // namespace wattle::sim::live
