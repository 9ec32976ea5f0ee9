// kernel: machines, the pods on them, and the joules that both draw. All simulations here share this cluster model.
// Knows    which pods run where, the cores that each pod wants, the resulting power, and which machines sleep, wake or
//          are gone. It has no names, requests, telemetry or users: callers keep those and follow the kernel as an
//          Observer
// Truth    the state is constant between events, so that energy is the exact integral of the curves. A waking machine
//          draws its wake energy over its wake time, and its pods run afterwards; an empty one sleeps after
//          sleep_after_s
// Pods     consecutive numbers assigned by the owner; a number is never placed twice. If pairs of applications disturb
//          each other (pairs.hpp), a slowed pod ends later: life_s is its work at full speed. Its life passes even
//          while its machine does not run
// Time     chosen by the owner: double, in seconds, or MonoTime. Events of the same moment happen in the order pod
//          ends, wakes, sleeps
// Units    in names
// Errors   none; placing a pod twice, or removing a pod that is not there, is a programming error
// Threads  single owner; a copy is independent, and only the observer passed to its calls follows it
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "common/clock.hpp"
#include "sim/cluster/machine.hpp"
#include "sim/cluster/pairs.hpp"

namespace wattle::sim::cluster {

using PodId = std::size_t;
inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// Share of their time that a machine's pods wait for CPU when `wanted_cores` are wanted; above 0 from `crowded_ratio`
// of the cores.
double pressure_ratio(double wanted_cores, double cores, double crowded_ratio);

struct SleepOptions {
  bool idle_sleep = false;
  double after_s = 60;
  bool from_start = false;  // empty machines are asleep at the start; otherwise they fall asleep after after_s
};

enum class Power { awake, asleep, waking, gone };

// Sums over time of one machine.
struct Totals {
  double energy_j = 0, used_core_s = 0, pressure_s = 0, awake_s = 0;
  double shown_pressure_s = 0;  // the part of the pressure that the machine's own kernel can measure
};

// Follows a kernel, which calls it from within its methods. An observer may call only the const methods, refresh
// and, from changed, settle and update of other machines.
struct Observer {
  virtual ~Observer() = default;
  // Called when the state was constant for `dt_s` and is about to change.
  virtual void ran(std::size_t /*node*/, double /*dt_s*/) {}
  // Called before the machine is refreshed; the pod was at that position on the machine.
  virtual void ended(PodId /*pod*/, std::size_t /*node*/, std::size_t /*position*/) {}
  virtual void woke(std::size_t /*node*/) {}
  // Called when pods, power state or curve have changed.
  virtual void changed(std::size_t /*node*/) {}
};

template <class Time>
class Kernel {
 public:
  struct Pod {
    PodId id = 0;
    double wanted_cores = 0;
    Time placed{};
  };
  // Progress of a pod, if there are pairs.
  struct Pace {
    std::size_t app = kNoApp;
    double speed = 1;
    double shown_speed = 1;  // as pressure shows it
    bool endless = false;
    Time ends{};
  };
  struct Node {
    Machine machine;
    Power power = Power::awake;
    std::vector<Pod> pods;    // oldest first
    std::vector<Pace> paces;  // one per pod; empty without pairs
    double wanted_cores = 0, used_cores = 0, pressure_ratio = 0, power_w = 0;
    double speed = 1;        // mean of its pods
    double shown_speed = 1;  // the same, as pressure shows it
    double shown_pressure_ratio = 0;
    double work_cores = 0;   // work done by the used cores, in undisturbed cores
    double crowd_ratio = 0;  // pressure without pairs
    Time wakes_at{};         // time of the current wake
    Time since{};            // end of the sums
    Totals total;
    std::uint32_t generation = 0;  // invalidates pending wakes and sleeps
  };

  // `pairs`: null: pods do not disturb each other. Pairs take effect with disturb().
  Kernel(const std::vector<Machine>& machines, const SleepOptions& sleep, std::shared_ptr<const Pairs> pairs = nullptr);

  Time now() const { return now_; }
  std::size_t size() const { return nodes_.size(); }
  const Node& node(std::size_t i) const { return nodes_[i]; }
  std::size_t node_of(PodId pod) const { return pod < node_of_.size() ? node_of_[pod] : kNowhere; }
  const std::vector<std::size_t>& nodes_of() const { return node_of_; }  // by pod
  // Watts that the machine would draw if it were awake.
  double running_w(std::size_t i) const;
  bool has_pairs() const { return pairs_ != nullptr; }
  double speed(std::size_t i, std::size_t position) const {
    return nodes_[i].paces.empty() ? 1 : nodes_[i].paces[position].speed;
  }
  // Share of its time that a pod waits, as pressure shows it.
  double shows_waiting(std::size_t i, std::size_t position) const {
    return nodes_[i].paces.empty() ? nodes_[i].pressure_ratio
                                   : 1 - (1 - nodes_[i].crowd_ratio) * nodes_[i].paces[position].shown_speed;
  }
  // Share of its time that a pod waits.
  double waits(std::size_t i, std::size_t position) const {
    return nodes_[i].paces.empty() ? nodes_[i].pressure_ratio
                                   : 1 - (1 - nodes_[i].crowd_ratio) * nodes_[i].paces[position].speed;
  }

  bool due(Time when) const { return !events_.empty() && events_.top().at <= when; }
  Time next() const { return events_.top().at; }  // requires a pending event
  // Executes all events up to that time, in order.
  void advance_to(Time when, Observer& observer);

  // Wakes the machine if it sleeps. `life_s` may be infinite.
  void place(PodId pod, std::size_t node, double wanted_cores, double life_s, Observer& observer,
             std::size_t app = kNoApp);
  void remove(PodId pod, Observer& observer);
  // Sets the cores that each pod of the machine wants.
  template <class CoresOf>
  void want(std::size_t i, CoresOf&& cores_of, Observer& observer) {
    settle(i, observer);
    for (Pod& pod : nodes_[i].pods) pod.wanted_cores = cores_of(pod.id);
    change(i, observer);
  }
  void fail(std::size_t i, Observer& observer);    // the machine draws no power, and its pods stop
  void repair(std::size_t i, Observer& observer);  // the machine is awake again, with its remaining pods
  void disturb(Observer& observer);                // pairs take effect now
  void set_watts(std::size_t i, const Watts& watts, Observer& observer);
  void update(std::size_t i, Observer& observer);  // reports a change of the machine to the observer

  // For observers, within changed: applies new wanted cores without another call of the observer.
  void refresh(std::size_t i);
  void set_wanted(std::size_t i, std::size_t position, double cores) { nodes_[i].pods[position].wanted_cores = cores; }

  // Extends the sums to now, for one machine or for all.
  void settle(std::size_t i, Observer& observer);
  void settle(Observer& observer);
  void forget();  // resets the sums
  // Sums up to the last settle().
  double energy_j() const;
  double awake_node_s() const;
  double pod_s() const { return pod_s_; }
  double pressure_pod_s() const { return pressure_pod_s_; }
  double work_pod_s() const { return work_pod_s_; }  // lifetime of the pods if no pair had disturbed them
  std::uint64_t wakes() const { return wakes_; }

 private:
  enum class What : std::uint32_t { end, wake, sleep };
  struct Event {
    Time at{};
    std::size_t who = 0;
    What what{};
    std::uint32_t generation = 0;
    bool operator>(const Event& other) const {
      if (at != other.at) return at > other.at;
      return what != other.what ? what > other.what : who > other.who;
    }
  };
  void happen(const Event& event, Observer& observer);
  void change(std::size_t i, Observer& observer);
  void pace(std::size_t i);     // updates the speed of its pods
  void slow(Node& node) const;  // updates cores and pressure from the pods' speeds
  void fall_asleep_later(std::size_t i);

  SleepOptions sleep_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> node_of_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time now_{};
  double pod_s_ = 0, pressure_pod_s_ = 0, work_pod_s_ = 0;
  std::uint64_t wakes_ = 0;
  std::shared_ptr<const Pairs> pairs_;
  bool disturbed_ = false;
  std::vector<std::uint32_t> end_of_;  // by pod, with pairs: invalidates pending ends
};

extern template class Kernel<double>;
extern template class Kernel<MonoTime>;

}  // namespace wattle::sim::cluster
