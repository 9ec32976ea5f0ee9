#include "agent/power/node_sleep.hpp"

#include <algorithm>
#include <utility>

#include "common/printable.hpp"

namespace wattle::agent {

namespace {
// The controller repeats its order, so a longer time would only delay the end if the controller is lost.
constexpr std::uint64_t kLongestShallow_s = 300;
// The time asleep is the difference of two clocks that are read one after the other.
constexpr Duration kSleptAtLeast = std::chrono::milliseconds(500);

// Shortens a text at the start of a character.
std::string shortened(std::string text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  text.resize(bytes);
  return text;
}

bool same_sleep(const wire::SleepOrder& one, const wire::SleepOrder& other) {
  return one.operation == other.operation && one.depth == other.depth && one.by_agent == other.by_agent &&
         one.wake_after_s == other.wake_after_s;
}
}  // namespace

NodeSleep::NodeSleep(SleepConfig config, const Roots& roots, const std::string& state_dir,
                     std::function<Duration()> suspended, const Clock& clock, const Log& log)
    : config_(std::move(config)),
      logind_(roots.resolve(kSystemBus)),
      alarm_(roots.sys),
      shallow_(roots, state_dir, clock, log),
      suspended_(std::move(suspended)),
      clock_(clock),
      log_(log) {}

void NodeSleep::step(transport::AgentSession& session) {
  shallow_.step();
  if (phase_ == Phase::silent) return watch(session);
  if (!session.status().welcomed) {
    shallow_.leave("the controller is lost");
    return give_up();
  }
  if (unsaid_ && session.say(*unsaid_)) unsaid_.reset();
  if (const auto order = session.take_sleep_order()) on_order(session, *order);
  if (phase_ == Phase::flushing) flush(session);
  // A driver may suspend the node before the grant arrives.
  if (phase_ != Phase::ready || woke(session) || clock_.mono() < until_) return;
  log_.warn("node_sleep.not_granted", "the controller has not granted the sleep that it ordered; the agent continues",
            {{"operation", order_.operation}});
  session.release();
  give_up();
}

void NodeSleep::on_order(transport::AgentSession& session, const wire::SleepOrder& order) {
  if (order.depth == kShallow) return on_shallow(order);
  if (order.depth == kCancelled) {
    if (phase_ == Phase::idle || order.operation != order_.operation) return;
    session.release();
    return give_up();
  }
  shallow_.leave("a deeper sleep is ordered");
  const bool known = phase_ != Phase::idle && same_sleep(order, order_);
  if (known && phase_ == Phase::flushing) return;
  if (known && order.granted) return begin(session);
  if (known) {  // the goodbye may be lost
    session.say({order_.operation, {}});
    return;
  }
  session.release();
  give_up();
  order_ = order;
  if (const Status prepared = prepare(order); !prepared) return refuse(session, prepared.error().message());
  session.hold();
  phase_ = Phase::flushing;
  until_ = clock_.mono() + kFlushPatience;
}

void NodeSleep::on_shallow(const wire::SleepOrder& order) {
  if (order.wake_after_s == 0) return shallow_.leave("the controller ends it");
  if (phase_ != Phase::idle) return;
  const Status entered = config_.allows_shallow()
                             ? shallow_.enter(std::chrono::seconds(std::min(order.wake_after_s, kLongestShallow_s)))
                             : fail(Errc::denied, "power.depths", "does not have shallow", "add it on this node");
  const std::string why = entered ? std::string() : entered.error().message();
  if (std::exchange(not_shallow_, why) != why && !why.empty())
    log_.info("node_shallow.refused", "the node keeps its energy settings", {{"why", why}});
}

// Returns why the node cannot sleep. Arms the alarm, which proves that the clock can wake the node.
Status NodeSleep::prepare(const wire::SleepOrder& order) {
  const auto depth = parse_sleep_depth(order.depth);
  if (!depth)
    return fail(Errc::unsupported, "depth " + shortened(order.depth, 32), "is unknown to this agent",
                "upgrade the agent");
  if (!order.by_agent) return {};
  if (!config_.sleep)
    return fail(Errc::denied, "power.sleep", "is off in the agent's configuration",
                "set power.sleep: true on this node");
  if (!config_.allows(*depth))
    return fail(Errc::denied, "power.depths", "does not have " + order.depth, "add it on this node");
  WATTLE_CHECK(logind_.check(*depth));
  if (order.wake_after_s != 0) WATTLE_CHECK(alarm_.arm(order.wake_after_s));
  return {};
}

void NodeSleep::flush(transport::AgentSession& session) {
  const MonoTime now = clock_.mono();
  if (session.flushed()) {
    if (!session.say({order_.operation, {}})) return;
    phase_ = Phase::ready;
    until_ = now + kGrantPatience;
    suspended_before_ = suspended_();
    log_.info("node_sleep.goodbye", "the agent has said goodbye; the node may sleep",
              {{"operation", order_.operation}, {"depth", order_.depth}});
  } else if (now >= until_) {
    session.release();
    refuse(session, "the controller has not acknowledged the agent's records within " +
                        std::to_string(kFlushPatience / std::chrono::seconds(1)) + " s");
  }
}

void NodeSleep::begin(transport::AgentSession& session) {
  suspended_before_ = suspended_();
  if (order_.by_agent) {
    Status ordered = prepare(order_);  // again, because minutes may have passed
    if (ordered) {
      ordered = logind_.sleep(*parse_sleep_depth(order_.depth));
      // An order without an answer in time may be in force: logind answers once systemd has begun the shutdown, which
      // takes seconds on a busy machine. If it is not in force, watch() reports that.
      if (!ordered && ordered.error().code == Errc::timeout) ordered = {};
    }
    if (!ordered) {
      session.release();
      return refuse(session, ordered.error().message());
    }
  }
  session.fall_silent();
  phase_ = Phase::silent;
  until_ = clock_.mono() + kSleepPatience;
  log_.info("node_sleep.begins", "the node goes to sleep",
            {{"operation", order_.operation}, {"depth", order_.depth}, {"by_agent", order_.by_agent}});
}

void NodeSleep::watch(transport::AgentSession& session) {
  if (woke(session) || clock_.mono() < until_) return;
  const std::string why = "the node has not gone to sleep within " +
                          std::to_string(kSleepPatience / std::chrono::minutes(1)) + " minutes of its grant";
  log_.warn("node_sleep.missed", "the node has not gone to sleep; the agent continues",
            {{"operation", order_.operation}, {"depth", order_.depth}});
  unsaid_ = wire::Goodbye{order_.operation, why};
  session.wake(why);
  give_up();
}

// Returns true if the node has been suspended since the goodbye or the grant, and starts a new conversation then.
bool NodeSleep::woke(transport::AgentSession& session) {
  const Duration slept = suspended_() - suspended_before_;
  if (slept < kSleptAtLeast) return false;
  log_.info("node_sleep.ended", "the node is awake again",
            {{"operation", order_.operation}, {"slept_s", wattle::seconds(slept)}});
  session.wake("the node was asleep");
  give_up();
  return true;
}

// The reason contains names that other programs choose.
void NodeSleep::refuse(transport::AgentSession& session, const std::string& why) {
  const wire::Goodbye goodbye{order_.operation, shortened(printable(why), wire::Goodbye::kMaxRefusedBytes)};
  log_.warn("node_sleep.refused", "the node cannot sleep now",
            {{"operation", order_.operation}, {"depth", order_.depth}, {"why", goodbye.refused}});
  if (!session.say(goodbye)) unsaid_ = goodbye;
  give_up();
}

void NodeSleep::give_up() {
  alarm_.disarm();
  phase_ = Phase::idle;
}

}  // namespace wattle::agent
