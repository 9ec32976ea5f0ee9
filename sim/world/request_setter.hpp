// request_setter: applies the controller's rule of requests (provision/requests/request_rule) to the pods of a world,
// like `wattle provision set`.
// Input    as in controller/provision: per pod the mean of whole minutes, one rule per owner; waiting as reported by
//          telemetry
// Sets     CPU and memory, or only CPU, each minute: up at once, down once the pod has run for hold_s. New pods start
//          with their template's requests. All owners allow lower requests; a request never exceeds the machine
// Projects a setter that only projects does not set requests, and packs the fleet each day as `wattle savings` does
//          (provision/savings/freed_nodes), with requests that last for days. It also projects that the sleeping nodes
//          stay asleep, and counts each hour the idle watts that sleep saves, without transitions
// Restart  rules continue from one world to the next, as in a restarted controller
// Units    cores, bytes; seconds
// Errors   none
// Threads  single owner
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/stats/interval.hpp"
#include "provision/requests/request_rule.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

// Sums since the start of the world.
struct SetRequests {
  double writes = 0, given_up_core_s = 0, given_up_byte_s = 0;
};

// The projections of one day, with their intervals where they are known.
struct ProjectedDay {
  stats::Interval requests, sleep;
};

class RequestSetter final : public WorldObserver {
 public:
  explicit RequestSetter(bool memory = true, placement::RequestOptions options = {})
      : memory_(memory), options_(options) {}

  // Attaches to the next world, which `next` follows, too.
  void begin(WorldObserver* next);
  void only_project() { projects_ = true; }
  // Watts projected on each day of this world; the first value is at its start.
  const std::vector<ProjectedDay>& projected() const { return projected_; }
  const std::vector<double>& asleep_w() const { return asleep_w_; }  // saved by sleeping nodes, each hour
  double due_s() const { return due_s_; }
  // Closes a minute and sets pods, if due.
  void tick(World& world);
  const SetRequests& figures() const { return figures_; }

  void placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
              MonoTime now) override;
  void ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) override;
  void resized(const std::string& uid, const placement::Resources& request) override;
  void used(std::span<const PodUse> pods, double interval_s) override;
  void reported(const World& world) override;

 private:
  struct Pod {
    cluster::PodId id = 0;
    std::string owner;
    placement::Resources original, request;
    std::size_t row = 0;
    double since_s = 0;
    double needed_core_s = 0, seconds = 0;        // in the current minute
    double needed_bytes = 0, memory_since_s = 0;  // the maximum since then
  };
  void close(Pod& pod, double now_s);
  void set(World& world, const std::string& uid, Pod& pod);
  ProjectedDay project(const World& world) const;

  bool memory_;
  placement::RequestOptions options_;
  WorldObserver* next_ = nullptr;
  std::map<std::string, placement::RequestRule> rules_;  // by owner
  std::map<std::string, Pod> pods_;                      // by uid
  std::map<cluster::PodId, Pod*> pod_of_id_;             // into pods_
  // Start of this world on the rules' clock; next tick on the world's clock.
  double before_s_ = 0, due_s_ = 0;
  SetRequests figures_;
  bool projects_ = false;
  std::vector<ProjectedDay> projected_;
  std::vector<double> asleep_w_, hourly_pods_;  // pods also of earlier worlds
};

}  // namespace wattle::sim
