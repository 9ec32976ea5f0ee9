// governor: the fast loop: applies the student's rule to every workload each 100 ms; writes limits if the level allows.
// Levels   off: no action; suggest: reports limits and protection without setting them; limits: sets CPU limits and
//          memory.high; protect: sets memory.low alone
// Rules    A limit, memory.high included, never exceeds the original one. memory.low is never below the original one,
//          and all that is protected at most Rules::most_protected_bytes. memory.max and memory.min are not changed.
//          Orders of an agent that was silent for 10 s expire, and the limits set by them are restored.
//          At level suggest systemd is not queried. A unit's limit is lowered every 5 s at most, because each write
//          costs systemd a file.
//          The margin follows the requests that were answered too late, if the agent reports them; otherwise a student,
//          if there is one; otherwise throttling. After each minute the controller may move it by a rung
//          (actuation::MarginStep) for one minute. If it has done so once and is then silent for 10 s, the rule takes
//          over. The margin of memory works the same way while memory is limited.
//          A student that lets a workload be throttled too much (student_trial) no longer moves that workload's margin.
//          If one workload is inside another, only the outer one counts.
// Slow     while the keeper of a workload's limits (kernel or systemd) does not answer, its state is kept and the
//          request is repeated every second for kSlowPatience. Then its limits are given up, as after any other
//          trouble, and restored once the keeper answers
// Errors   trouble with one workload is in its report; the loop continues
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actuator/ledger.hpp"
#include "actuator/memory_rule.hpp"
#include "actuator/meter.hpp"
#include "actuator/node_load.hpp"
#include "actuator/protection_rule.hpp"
#include "common/actuation.hpp"
#include "common/clock.hpp"
#include "common/stats/network_trial.hpp"
#include "provision/minute/minute.hpp"
#include "provision/minute/student_file.hpp"
#include "provision/student/integral_rule.hpp"
#include "provision/student/student.hpp"

namespace wattle::actuator {

inline constexpr Duration kSilence = std::chrono::seconds(10);
inline constexpr Duration kSlowPatience = std::chrono::seconds(60);

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
  // Orders from the configuration; they never expire.
  void own(std::vector<actuation::Order> orders);
  // Sets the student; null: none. Each new student starts with a new trial.
  void steer_by(models::provision::Network student);
  // Orders from the agent, sent every second.
  void order(actuation::Orders orders, MonoTime now);
  void tick(MonoTime now);
  actuation::Report report() const;
  // Number of workloads whose margin the student may no longer move.
  std::size_t student_out() const;
  // Margin of a workload; unset if it is not watched.
  std::optional<double> margin_ratio(const std::string& path) const;
  // Errors to log since the last call.
  std::vector<Error> take_troubles();

 private:
  struct Workload {
    std::string path;
    actuation::Level level = actuation::Level::suggest;
    std::optional<Target> target, cgroup;  // of the keeper of limits; in the kernel
    std::optional<Meter> meter;
    Student student;
    MemoryRule memory;
    ProtectionRule protection;
    std::string least_ancestor;  // the last one that was reported because it lets no protection through
    MemoryLooks looks;           // this minute's
    double margin_ratio = 0, memory_ratio = models::provision::kRuleMemory;
    std::uint64_t ticks = 0, watched_refills = 0;
    models::provision::MinuteWatch watch;                          // this minute, as a student sees it
    std::optional<CpuUse> use, minute;                             // at the last tick; at the start of the minute
    std::optional<actuation::Requests> requests, minute_requests;  // at the last tick; at the start of the minute
    std::optional<actuation::MarginStep> step;                     // last one from the agent
    std::uint64_t minutes = 0;                                     // finished minutes
    double minute_margin = 0, rule_margin = 0;  // last finished minute: in force at its end; next value by the rule
    double minute_memory = 0;                   // memory's margin at the end of the last minute
    bool memory_limited = false;         // limited by us, or by the original limit where the rule would give more
    bool steered = false, held = false;  // this minute: a step is in force; a step is awaited
    bool by_student = false;             // this minute: the student's margin is in force
    stats::NetworkTrial trial;           // of the student
    MonoTime at, sought_at, minute_at, memory_at, looked_at, wrote_at, retry_at;
    std::optional<MonoTime> slow_since;  // start of a request that is not answered yet
    Wish wish;
    bool wishes = false;
    std::optional<CpuLimit> set;  // set by us, or suggested
    std::optional<std::int64_t> high_bytes, low_bytes;
    Values originals;
    actuation::Grant grant;
  };

  void merge(MonoTime now);
  void hear_requests();
  void seek(Workload& workload, MonoTime now);
  void lose(Workload& workload);
  bool observe(Workload& workload, MonoTime now);
  Status check_files(const Workload& workload, const Target& cgroup);
  void observe_memory(Workload& workload, MonoTime now);
  bool move_protection(Workload& workload, const MemoryUse& use, MonoTime now);
  std::int64_t protectable_bytes(const Workload& workload) const;
  void report_ancestor(Workload& workload, const AncestorProtection& above);
  void move_margin(Workload& workload, MonoTime now);
  void end_minute(Workload& workload, MonoTime now);
  void take_step(Workload& workload, MonoTime now);
  void try_student(Workload& workload, double throttled_ratio);
  std::optional<double> by_student(const Workload& workload, const models::provision::ServiceMinute& state,
                                   const MinuteOfRequests& ticks);
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
  std::vector<actuation::Order> own_;
  std::optional<actuation::Orders> reported_;
  MonoTime reported_at_, second_at_;
  bool changed_ = true, received_ = false, begun_ = false;
  std::uint64_t throttled_us_ = 0;  // sum over all workloads while they were watched
  std::map<std::string, std::unique_ptr<Workload>> workloads_;
  std::vector<Workload*> wishing_;
  std::vector<Wish> wishes_;
  std::vector<Error> troubles_;
  models::provision::Network student_;
  bool reported_not_finite_ = false;
};

}  // namespace wattle::actuator
