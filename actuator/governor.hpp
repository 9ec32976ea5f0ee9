// governor: the fast loop: each 100 ms the student's rule on every workload, written where that workload's level says so.
// Levels   off: nothing; suggest: what would be set is told and not set; limits: it is set
// Rules    a limit is never above what was there before; memory.high likewise, and memory.max and memory.min are not touched
//          orders of somebody who was silent for 10 s are void, and what they set is put back
//          at level suggest nothing is asked of systemd; a unit's limit is lowered every 5 s at most, as each costs systemd a file
//          the margin follows the requests that were answered too late, where the agent knows of them, else a student, where there is
//          one, else throttling; after that minute the controller may have moved it by a rung (actuation::MarginStep), which counts
//          until the next one; from who said so once and is silent for 10 s the rule takes over. So it is with memory's margin, while
//          memory is limited
//          a student under which a workload is throttled more than it may be (StudentTrial) is not asked about that workload again
//          of two workloads of which one is inside the other the outer one counts
// Slow     while who keeps a workload's limits does not answer, all that is known of it stays: what is wanted is asked again each
//          second, for kSlowPatience; then its limits are given up, as after any other trouble, to be put back once it answers
// Errors   a workload's own trouble is in its report; the loop goes on
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
#include "actuator/student/integral_rule.hpp"
#include "actuator/student/student.hpp"
#include "actuator/student/student_trial.hpp"
#include "common/actuation.hpp"
#include "common/clock.hpp"
#include "models/provision/minute.hpp"
#include "models/provision/student_file.hpp"

namespace wattle::actuator {

inline constexpr Duration kSilence = std::chrono::seconds(10);
inline constexpr Duration kSlowPatience = std::chrono::seconds(60);

struct Rules {
  StudentRules student;
  double margin_ratio = 0.15;  // of the base, at the beginning: minutes later it is where integral_rule.hpp moves it
  double throttled_aim_ratio = 0.02;                          // of the periods, where no latency is known
  double student_throttled_ratio = StudentTrial::kMostRatio;  // in the long run, where a student moves the margin
  bool memory = true;
};

class Governor {
 public:
  // `limits`: what the ledger writes to; `cgroups`: where use is read.
  Governor(CgroupLimits& cgroups, Limits& limits, Ledger& ledger, NodeLoad load, Rules rules);
  // By the configuration: stands as long as the process.
  void own(std::vector<actuation::Order> orders);
  // None: without a student. Each one begins its trial anew.
  void steer_by(models::provision::Network student);
  // By the agent, each second.
  void order(actuation::Orders orders, MonoTime now);
  void tick(MonoTime now);
  actuation::Report report() const;
  // Workloads about which the student is not asked any more.
  std::size_t student_out() const;
  // Of a workload that is watched.
  std::optional<double> margin_ratio(const std::string& path) const;
  // What a log should say since the last call.
  std::vector<Error> take_troubles();

 private:
  struct Workload {
    std::string path;
    actuation::Level level = actuation::Level::suggest;
    std::optional<Target> target;
    std::optional<Meter> meter;
    Student student;
    MemoryRule memory;
    MemoryLooks looks;  // of the minute
    double margin_ratio = 0, memory_ratio = models::provision::kRuleMemory;
    std::uint64_t ticks = 0, watched_refills = 0;
    models::provision::MinuteWatch watch;  // of the minute, as a student sees it
    std::optional<CpuUse> use, minute;     // at the last tick, and at the beginning of the minute
    std::optional<actuation::Requests> requests, minute_requests;  // likewise
    std::optional<actuation::MarginStep> step;                     // as the agent said last
    std::uint64_t minutes = 0;                                     // that have ended
    double minute_margin = 0, rule_margin = 0;  // of the last that ended: in force at its end, and the rule's next
    double minute_memory = 0;                   // memory's, in force at its end
    bool memory_limited = false;                // by us, or by what was there where the rule would give more
    bool steered = false, held = false;         // in the one under way: a step counts; one is waited for
    bool by_student = false;                    // likewise: the student's margin counts
    StudentTrial trial;
    MonoTime at, sought_at, minute_at, memory_at, looked_at, wrote_at, retry_at;
    std::optional<MonoTime> slow_since;  // what it was asked has no answer yet
    Wish wish;
    bool wishes = false;
    std::optional<CpuLimit> set;  // what is in force by us, or would be
    std::optional<std::int64_t> high_bytes;
    Values originals;
    actuation::Grant grant;
  };

  void merge(MonoTime now);
  void hear_requests();
  void seek(Workload& workload, MonoTime now);
  void lose(Workload& workload);
  bool observe(Workload& workload, MonoTime now);
  void observe_memory(Workload& workload, MonoTime now);
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
  std::optional<actuation::Orders> told_;
  MonoTime told_at_, second_at_;
  bool changed_ = true, heard_ = false, begun_ = false;
  std::uint64_t throttled_us_ = 0;  // of all, while they were watched
  std::map<std::string, std::unique_ptr<Workload>> workloads_;
  std::vector<Workload*> wishing_;
  std::vector<Wish> wishes_;
  std::vector<Error> troubles_;
  models::provision::Network student_;
  bool told_not_finite_ = false;
};

}  // namespace wattle::actuator
