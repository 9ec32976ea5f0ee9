#include "controller/power/power_actions.hpp"

#include <algorithm>
#include <array>

namespace wattle::controller::power {

namespace {

using Record = placement::sleep::NodePowerRecord;

constexpr std::array<std::string_view, 6> kCallNames{"mark", "unmark", "annotate", "sleep", "wake", "observe"};

Status no_driver(const std::string& node) {
  return fail(Errc::not_found, node, "has no power driver", "name one in the file of sleep.drivers");
}

Status set_marks(NodeMarks& marks, PowerCall call, const Record& record) {
  if (call == PowerCall::mark) return marks.mark(record.node, record);
  if (call == PowerCall::unmark) return marks.unmark(record.node, record);
  return marks.annotate(record.node, record);
}

PowerOutcome ask_driver(NodePower* power, PowerCall call, const Node& node, const Record& record) {
  PowerOutcome out{node.name, call, record.operation, {}, {}};
  const Operation operation{record.operation, kOrderLimit, std::max<std::uint32_t>(record.attempts, 1)};
  if (power == nullptr) {
    out.status = no_driver(node.name);
  } else if (call == PowerCall::sleep) {
    out.status = power->sleep(node, record.depth, operation);
  } else if (call == PowerCall::wake) {
    out.status = power->wake(node, operation);
  } else if (auto seen = power->observe(node, kObserveLimit)) {
    out.seen = *seen;
  } else {
    out.status = forward_error(seen);
  }
  return out;
}

}  // namespace

std::string_view to_string(PowerCall call) { return kCallNames[static_cast<std::size_t>(call)]; }

placement::sleep::Observed PowerOutcome::observed() const {
  using placement::sleep::Observed;
  if (!status || seen.state == PowerState::unknown) return Observed::unknown;
  return seen.state == PowerState::on ? Observed::on : Observed::off;
}

PowerActions::PowerActions(std::shared_ptr<NodePower> power, std::shared_ptr<NodeMarks> marks, std::size_t threads)
    : power_(std::move(power)),
      marks_(std::move(marks)),
      marking_([] {}, marks_ == nullptr || threads == 0 ? 0 : 1),
      calling_([] {}, power_ == nullptr ? 0 : threads) {}

void PowerActions::start(PowerCall call, Node node, Record record) {
  if (call == PowerCall::mark || call == PowerCall::unmark || call == PowerCall::annotate) {
    if (marks_ == nullptr) return done_.push_back({node.name, call, record.operation, {}, {}});
    return marking_.post([this, call, record = std::move(record)]() -> TaskThread::Then {
      PowerOutcome out{record.node, call, record.operation, set_marks(*marks_, call, record), {}};
      return [this, out = std::move(out)]() mutable { done_.push_back(std::move(out)); };
    });
  }
  if (call == PowerCall::wake && marks_ != nullptr)
    marking_.post([this, record]() -> TaskThread::Then {
      static_cast<void>(marks_->annotate(record.node, record));
      return [] {};
    });
  calling_.post([this, call, node = std::move(node), record = std::move(record)]() -> TaskThread::Then {
    PowerOutcome out = ask_driver(power_.get(), call, node, record);
    return [this, out = std::move(out)]() mutable { done_.push_back(std::move(out)); };
  });
}

void PowerActions::evict(std::string node, placement::sleep::Move pod) {
  if (marks_ == nullptr) return;
  marking_.post([this, node = std::move(node), pod = std::move(pod)]() -> TaskThread::Then {
    EvictOutcome out{node, pod, marks_->evict(pod)};
    return [this, out = std::move(out)]() mutable { evicted_.push_back(std::move(out)); };
  });
}

void PowerActions::event(std::string node, NodeEvent event) {
  if (marks_ == nullptr) return;
  marking_.post([this, node = std::move(node), event = std::move(event)]() -> TaskThread::Then {
    static_cast<void>(marks_->event(node, event));
    return [] {};
  });
}

std::vector<PowerOutcome> PowerActions::done() {
  for (TaskThread* thread : {&marking_, &calling_})
    for (const TaskThread::Then& then : thread->done()) then();
  return std::exchange(done_, {});
}

}  // namespace wattle::controller::power
