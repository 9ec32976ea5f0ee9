// request_setter: the controller's rule of requests (placement/request_rule) on the pods of a world, and what `wattle provision set`
// does with it.
// Hears    as controller/provision does: of each pod the mean of whole minutes, one rule an owner; waiting as telemetry tells it
// Sets     CPU and memory, or CPU alone, each minute: up at once, down once the pod has run for hold_s. New pods come with what their
//          template says. All owners allow less than that; never more than the machine has
// Runs     rules go on from one world to the next, as in a controller that is started anew
// Units    cores, bytes; seconds
// Errors   none
// Threads  single owner
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "placement/request_rule.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

// Sums since the world began.
struct SetRequests {
  double writes = 0, given_up_core_s = 0, given_up_byte_s = 0;
};

class RequestSetter final : public WorldObserver {
 public:
  explicit RequestSetter(bool memory = true, placement::RequestOptions options = {})
      : memory_(memory), options_(options) {}

  // Of the next world, which `next` follows, too.
  void begin(WorldObserver* next);
  double due_s() const { return due_s_; }
  // A minute is closed and pods are set, if it is time to.
  void tick(World& world);
  const SetRequests& figures() const { return figures_; }
  // What pods of that owner should request; absent: not known yet.
  std::optional<double> suggested_cores(const std::string& app) const;

  void placed(cluster::PodId id, const placement::PodSpec& pod, const std::string& node, std::size_t row,
              MonoTime now) override;
  void ended(const placement::PodSpec& pod, std::size_t row, MonoTime now) override;
  void used(std::span<const PodUse> pods, double interval_s) override;
  void told(const World& world) override;

 private:
  struct Pod {
    cluster::PodId id = 0;
    std::string owner;
    placement::Resources original, request;
    std::size_t row = 0;
    double since_s = 0;
    double needed_core_s = 0, seconds = 0;        // of the minute
    double needed_bytes = 0, memory_since_s = 0;  // the most since then
  };
  void close(Pod& pod, double now_s);
  void set(World& world, const std::string& uid, Pod& pod);

  bool memory_;
  placement::RequestOptions options_;
  WorldObserver* next_ = nullptr;
  std::map<std::string, placement::RequestRule> rules_;  // by owner
  std::map<std::string, Pod> pods_;                      // by uid
  std::map<cluster::PodId, Pod*> pod_of_id_;             // into pods_
  double before_s_ = 0, due_s_ = 0;                      // of the rules' clock when this world began; of the world's
  SetRequests figures_;
};

}  // namespace wattle::sim
