// power_actions: carries out calls to the power drivers, the marks of nodes and their agents, away from the loop.
// Calls    of different nodes run concurrently, kCallThreads at a time. The caller starts one call per node, and the
//          next one after done() has returned the outcome of the first
// Marks    without them (no API server) mark, unmark and annotate succeed at once, and no pod is evicted
// Limits   kOrderLimit for orders to a driver, kObserveLimit for observations
// Errors   in the outcome: those of the drivers and of the marks
// Threads  the loop's; the destructor waits for running calls
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/messages.hpp"
#include "controller/power/node_marks.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/task_thread.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::controller::power {

inline constexpr std::size_t kCallThreads = 8;
inline constexpr std::chrono::milliseconds kOrderLimit{20'000}, kObserveLimit{5000};

// wake: also annotates the node afterwards, if it can; a wake does not wait for the API server.
enum class PowerCall : std::uint8_t { mark, unmark, annotate, sleep, wake, observe };
std::string_view to_string(PowerCall call);

struct PowerOutcome {
  std::string node;
  PowerCall call{};
  std::uint64_t operation = 0;  // of the record at the start of the call
  Status status;
  Observation seen = {};  // of observe

  placement::sleep::Observed observed() const;
};

struct EvictOutcome {
  std::string node;
  placement::sleep::Move pod;
  Result<Evicted> result;
};

class PowerActions {
 public:
  // Sends an order to the agent of the node; the error says why its session does not take it.
  using Send = std::function<Status(const std::string& node, const wire::SleepOrder& order)>;
  // `power`: null: no driver. `threads`: 0 runs each call at once, for tests.
  PowerActions(std::shared_ptr<NodePower> power, std::shared_ptr<NodeMarks> marks, std::size_t threads = kCallThreads);

  bool has_marks() const { return marks_ != nullptr; }
  void on_send(Send send) { send_ = std::move(send); }
  Status send(const std::string& node, const wire::SleepOrder& order) const {
    return send_ ? send_(node, order) : fail(Errc::unavailable, node, "no agent can be reached");
  }
  void start(PowerCall call, Node node, placement::sleep::NodePowerRecord record);
  void evict(std::string node, placement::sleep::Move pod);
  // An Event of the node, if there is an API server; one that it refuses is lost.
  void event(std::string node, NodeEvent event);

  std::vector<PowerOutcome> done();
  bool busy() const { return marking_.busy() || calling_.busy(); }  // a call is running
  std::vector<EvictOutcome> evicted() { return std::exchange(evicted_, {}); }

 private:
  const std::shared_ptr<NodePower> power_;
  const std::shared_ptr<NodeMarks> marks_;
  Send send_;
  std::vector<PowerOutcome> done_;
  std::vector<EvictOutcome> evicted_;
  // Marks take one call at a time.
  TaskThread marking_, calling_;
};

}  // namespace wattle::controller::power
