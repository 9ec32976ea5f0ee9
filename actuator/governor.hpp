// governor: the fast loop, which applies the student's rule to every workload every 100 ms, and writes limits if the
// level allows it.
// Levels   off: no action; suggest: reports limits and protection without setting them; limits: sets CPU limits and
//          memory.high; protect: sets only memory.low
// Rules    A limit, memory.high included, never exceeds the original one. memory.low is never below the original one,
//          and the sum of protected memory is at most Rules::most_protected_bytes. memory.max and memory.min are not
//          changed. Orders of an agent that was silent for 10 s expire, and the limits set by them are restored.
//          At level suggest systemd is not queried. A unit's limit is lowered every 5 s at most, because systemd
//          writes a file each time.
//          If one workload is inside another, only the outer one counts.
// Margins  actuator/workload_margin
// Slow     while the keeper of a workload's limits does not answer, actuator/held_limits waits. After that the limits
//          are given up, as after any other error, and restored once the keeper answers
// Errors   an error of one workload is in its report; the loop continues
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actuator/held_limits.hpp"
#include "actuator/ledger.hpp"
#include "actuator/margin_student.hpp"
#include "actuator/memory_rule.hpp"
#include "actuator/meter.hpp"
#include "actuator/node_load.hpp"
#include "actuator/protection_rule.hpp"
#include "actuator/standing_orders.hpp"
#include "actuator/workload_margin.hpp"
#include "common/actuation.hpp"
#include "common/clock.hpp"
#include "provision/student/student.hpp"

namespace wattle::actuator {

struct Rules {
  StudentRules student;
  double margin_ratio = 0.15;                  // initial margin over the base; integral_rule.hpp moves it every minute
  double throttled_aim_ratio = kThrottledAim;  // share of the periods; used if no latency is known
  // Long-run limit while a student moves the margin. It matches a margin that keeps a 99th percentile of latency:
  // simulated, up to 0.18 of periods are throttled on average.
  double student_throttled_ratio = 0.2;
  bool memory = true;                              // memory.high; level protect does not depend on it
  std::int64_t most_protected_bytes = kUnlimited;  // sum of memory.low over the workloads
};

class Governor {
 public:
  // `limits`: where the ledger writes; `cgroups`: where usage is read.
  Governor(CgroupLimits& cgroups, Limits& limits, Ledger& ledger, NodeLoad load, Rules rules);
  // Sets the student; null: none. Each new student starts with a new trial.
  void steer_by(models::provision::Network student);
  // Takes the orders of configuration and agent.
  StandingOrders& orders() { return orders_; }
  void tick(MonoTime now);
  actuation::Report report() const;
  // Number of workloads whose margin the student may no longer move.
  std::size_t student_out() const;
  // Margin of a workload; unset if it is not watched.
  std::optional<double> margin_ratio(const std::string& path) const;
  // Errors to log since the last call.
  std::vector<Error> take_troubles();

 private:
  // CPU usage at the last tick.
  struct CpuWatch {
    std::optional<CpuUse> use;
    MonoTime at;
    std::uint64_t ticks = 0, refills = 0;
  };
  struct MemoryWatch {
    MemoryRule rule;
    ProtectionRule protection;
    MonoTime at;                 // last reading
    std::string least_ancestor;  // last one reported because it permits no protection
  };
  struct Workload {
    explicit Workload(stats::NetworkTrial trial) : margin(trial) {}
    actuation::Grant grant;        // with its path and level
    std::optional<Target> cgroup;  // in the kernel
    std::optional<Meter> meter;
    HeldLimits limits;
    Student student;
    WorkloadMargin margin;
    CpuWatch cpu;
    MemoryWatch memory;
    MonoTime sought_at;
  };

  void merge(MonoTime now);
  void pass_orders();
  void seek(Workload& workload, MonoTime now);
  void start(Workload& workload, MonoTime now);
  void lose(Workload& workload);
  std::optional<Wish> observe(Workload& workload, MonoTime now);
  Status check_files(const Workload& workload, const Target& cgroup);
  void observe_memory(Workload& workload, MonoTime now);
  bool move_protection(Workload& workload, const MemoryUse& use, MonoTime now);
  std::int64_t protectable_bytes(const Workload& workload) const;
  void report_ancestor(Workload& workload, const AncestorProtection& above);
  void move_margin(Workload& workload, MonoTime now);
  void act(Workload& workload, const Wish& allowed, MonoTime now);
  void apply(Workload& workload, MonoTime now);
  void put_back_strays(MonoTime now);
  bool waits(Workload& workload, const Error& error, MonoTime now);
  void trouble(Workload& workload, const Error& error);

  CgroupLimits& cgroups_;
  Limits& limits_;
  Ledger& ledger_;
  NodeLoad load_;
  Rules rules_;
  MarginStudent student_;
  StandingOrders orders_;
  std::optional<MonoTime> second_at_;
  std::uint64_t throttled_us_ = 0;  // sum over all workloads while they were watched
  std::map<std::string, std::unique_ptr<Workload>> workloads_;
  std::vector<Error> troubles_;
};

}  // namespace wattle::actuator
