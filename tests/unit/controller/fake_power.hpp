// fake_power: a NodePower over machines in memory, with faults that a test injects. Passes the contract suite of the
// drivers (tests/integration/power).
// Errors   not_found (no such machine), unsupported (a depth the machine lacks), those that fail_next() names
// Threads  any
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "controller/power/node_power.hpp"

namespace wattle::controller::power {

class FakePower final : public NodePower {
 public:
  struct Machine {
    PowerState state = PowerState::on;
    Capabilities able{.depths = {Depth::off}, .can_wake = true, .can_observe = true, .wake_s = 152.0, .asleep_w = 9.75};
    double on_w = 95;
    bool ignores_orders = false;  // accepts orders and does nothing
    bool unobservable = false;    // is observed as unknown
    std::size_t probes = 0;
    std::deque<Error> failures = {};
    std::vector<std::uint64_t> slept = {}, woken = {};  // operations that changed the state
  };

  void add(const std::string& name) { add(name, Machine()); }
  void add(const std::string& name, Machine machine) {
    const std::lock_guard lock(mutex_);
    machines_[name] = std::move(machine);
  }
  // Runs `change` on the machine, which must exist.
  template <class F>
  void change(const std::string& name, F&& change) {
    const std::lock_guard lock(mutex_);
    change(machines_.at(name));
  }
  // The next call for the machine fails.
  void fail_next(const std::string& name, Error error) {
    change(name, [&](Machine& machine) { machine.failures.push_back(std::move(error)); });
  }
  // Probes block until they are released.
  void hold_probes(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    let_go_.notify_all();
  }
  Machine machine(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return machines_.at(name);
  }

  Result<Capabilities> probe(const Node& node, std::chrono::milliseconds) override {
    std::unique_lock lock(mutex_);
    if (const auto found = machines_.find(node.name); found != machines_.end()) ++found->second.probes;
    let_go_.wait(lock, [this] { return !held_; });
    WATTLE_TRY(Machine* const machine, reach(node));
    return machine->able;
  }
  Status sleep(const Node& node, Depth depth, const Operation& operation) override {
    const std::lock_guard lock(mutex_);
    WATTLE_TRY(Machine* const machine, reach(node));
    const auto& depths = machine->able.depths;
    if (std::find(depths.begin(), depths.end(), depth) == depths.end())
      return fail(Errc::unsupported, node.name, "the machine lacks this depth");
    turn(*machine, PowerState::off, machine->slept, operation);
    return {};
  }
  Status wake(const Node& node, const Operation& operation) override {
    const std::lock_guard lock(mutex_);
    WATTLE_TRY(Machine* const machine, reach(node));
    turn(*machine, PowerState::on, machine->woken, operation);
    return {};
  }
  Result<Observation> observe(const Node& node, std::chrono::milliseconds) override {
    const std::lock_guard lock(mutex_);
    WATTLE_TRY(Machine* const machine, reach(node));
    if (machine->unobservable) return Observation{};
    return Observation{machine->state, machine->state == PowerState::on ? machine->on_w : machine->able.asleep_w};
  }

 private:
  Result<Machine*> reach(const Node& node) {
    const auto found = machines_.find(node.name);
    if (found == machines_.end()) return fail(Errc::not_found, node.name, "no such machine");
    auto& failures = found->second.failures;
    if (failures.empty()) return &found->second;
    Error error = std::move(failures.front());
    failures.pop_front();
    return tl::unexpected<Error>(std::move(error));
  }
  static void turn(Machine& machine, PowerState to, std::vector<std::uint64_t>& done, const Operation& operation) {
    if (machine.ignores_orders || machine.state == to) return;
    machine.state = to;
    done.push_back(operation.number);
  }

  mutable std::mutex mutex_;
  std::condition_variable let_go_;
  bool held_ = false;
  std::map<std::string, Machine> machines_;
};

}  // namespace wattle::controller::power
