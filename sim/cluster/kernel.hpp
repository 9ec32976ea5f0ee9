// kernel: machines, the pods on them, and the joules that both draw: the one model of a cluster that the simulations here stand on.
// Knows    who runs where, what each pod wants, what that draws, and who sleeps, wakes or is gone; no names, no requests, no
//          telemetry, no users: whoever needs those keeps them beside it and follows as an Observer
// Truth    all is constant between events, so that energy is the exact integral of the curves. A machine that wakes draws its
//          wake energy over its wake time, its pods run afterwards; one that is empty sleeps after sleep_after_s
// Pods     dense numbers that the owner counts up; none is placed twice. Where pairs of applications disturb each other (pairs.hpp) a pod
//          that runs slower ends later: life_s is of its work, at full speed. While its machine does not run, its life goes by all the same
// Time     the owner's: double, in seconds, or MonoTime; events of the same moment happen in the order pod ends, wakes, sleeps
// Units    in names
// Errors   none; a pod that is placed twice, or taken where it is not, is our bug
// Threads  single owner; a copy lives on by itself, and nobody follows it but who is passed in
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "common/clock.hpp"
#include "sim/cluster/machine.hpp"
#include "sim/cluster/pairs.hpp"

namespace wattle::sim::cluster {

using PodId = std::size_t;
inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// Share of their time that pods of a machine wait for CPU when so many cores are wanted; from `crowded_ratio` of them on.
double pressure_ratio(double wanted_cores, double cores, double crowded_ratio);

struct SleepOptions {
  bool idle_sleep = false;
  double after_s = 60;
  bool from_start = false;  // empty machines are asleep at the beginning; else they fall asleep after_s later
};

enum class Power { awake, asleep, waking, gone };

// Sums over time of one machine.
struct Totals {
  double energy_j = 0, used_core_s = 0, pressure_s = 0, awake_s = 0;
};

// Who follows a kernel. Calls come from within its methods; none of them may be called back but the const ones, refresh and,
// from changed alone, settle and update of other machines.
struct Observer {
  virtual ~Observer() = default;
  // So long all was as it still is; something is about to change.
  virtual void ran(std::size_t /*node*/, double /*dt_s*/) {}
  // At that position among the machine's pods, before what is left is refreshed.
  virtual void ended(PodId /*pod*/, std::size_t /*node*/, std::size_t /*position*/) {}
  virtual void woke(std::size_t /*node*/) {}
  // Pods, power or curve are others now.
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
  // Of a pod where there are pairs.
  struct Pace {
    std::size_t app = kNoApp;
    double speed = 1;
    bool endless = false;
    Time ends{};
  };
  struct Node {
    Machine machine;
    Power power = Power::awake;
    std::vector<Pod> pods;    // oldest first
    std::vector<Pace> paces;  // of these; none where there are no pairs
    double wanted_cores = 0, used_cores = 0, pressure_ratio = 0, power_w = 0;
    double speed = 1;        // mean of its pods
    double work_cores = 0;   // what used cores do, in cores that nobody disturbs
    double crowd_ratio = 0;  // pressure without pairs
    Time wakes_at{};         // of the last wake
    Time since{};            // sums run to here
    Totals total;
    std::uint32_t generation = 0;  // outdates wakes and sleeps that were to come
  };

  // `pairs`: null, nobody disturbs anybody; they begin with disturb().
  Kernel(const std::vector<Machine>& machines, const SleepOptions& sleep, std::shared_ptr<const Pairs> pairs = nullptr);

  Time now() const { return now_; }
  std::size_t size() const { return nodes_.size(); }
  const Node& node(std::size_t i) const { return nodes_[i]; }
  std::size_t node_of(PodId pod) const { return pod < node_of_.size() ? node_of_[pod] : kNowhere; }
  const std::vector<std::size_t>& nodes_of() const { return node_of_; }  // by pod
  // Watts that the machine would draw if it were awake.
  double running_w(std::size_t i) const;
  bool has_pairs() const { return pairs_ != nullptr; }
  bool disturbed() const { return pairs_ && disturbed_; }
  double speed(std::size_t i, std::size_t position) const {
    return nodes_[i].paces.empty() ? 1 : nodes_[i].paces[position].speed;
  }
  // Share of its time that a pod waits.
  double waits(std::size_t i, std::size_t position) const {
    return nodes_[i].paces.empty() ? nodes_[i].pressure_ratio
                                   : 1 - (1 - nodes_[i].crowd_ratio) * nodes_[i].paces[position].speed;
  }

  bool due(Time when) const { return !events_.empty() && events_.top().at <= when; }
  Time next() const { return events_.top().at; }  // of what is due
  // What happens until then, in order.
  void advance_to(Time when, Observer& observer);

  // Wakes the machine if it sleeps. `life_s` may be infinite.
  void place(PodId pod, std::size_t node, double wanted_cores, double life_s, Observer& observer,
             std::size_t app = kNoApp);
  void remove(PodId pod, Observer& observer);
  // Pods that run and do not stay end so many seconds from now; where there are no pairs.
  void end_in(const std::function<double(PodId)>& left_s);
  // What each pod of the machine wants from now on.
  template <class CoresOf>
  void want(std::size_t i, CoresOf&& cores_of, Observer& observer) {
    settle(i, observer);
    for (Pod& pod : nodes_[i].pods) pod.wanted_cores = cores_of(pod.id);
    change(i, observer);
  }
  void fail(std::size_t i, Observer& observer);    // draws nothing, pods stand still
  void repair(std::size_t i, Observer& observer);  // awake, with what pods it still has
  void disturb(Observer& observer);                // pairs do from now on
  void set_watts(std::size_t i, const Watts& watts, Observer& observer);
  void update(std::size_t i, Observer& observer);  // what observers know of it has changed

  // For observers, from changed: of what pods of this machine want; nobody is told.
  void refresh(std::size_t i);
  void set_wanted(std::size_t i, std::size_t position, double cores) { nodes_[i].pods[position].wanted_cores = cores; }

  // Sums run to now, of one machine and of all.
  void settle(std::size_t i, Observer& observer);
  void settle(Observer& observer);
  void forget();  // sums begin anew
  // As far as they were settled.
  double energy_j() const;
  double awake_node_s() const;
  double pod_s() const { return pod_s_; }
  double pressure_pod_s() const { return pressure_pod_s_; }
  double work_pod_s() const { return work_pod_s_; }  // for which pods would have lived, had nobody disturbed them
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
  void pace(std::size_t i);     // its pods run as fast as they do beside each other
  void slow(Node& node) const;  // what that makes of cores and pressure
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
  std::vector<std::uint32_t> end_of_;  // by pod, where there are pairs: outdates ends that were to come
};

extern template class Kernel<double>;
extern template class Kernel<MonoTime>;

}  // namespace wattle::sim::cluster
