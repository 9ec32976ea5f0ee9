// workload_margin: the CPU and memory margins of one workload, moved every minute while its limits are in force.
// Rule     late requests, if the agent reports them; otherwise a student, if there is one; otherwise throttling. A
//          student that lets the workload be throttled too much (student_trial) no longer moves its margin
// Steps    after each minute the controller may move the margins by a rung (actuation::MarginStep) for one minute. If
//          it has done so once and then stays silent for kSilence, the rule takes over
// Units    in names
// Errors   errors of the student are appended to the caller's list
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actuator/margin_student.hpp"
#include "actuator/memory_rule.hpp"
#include "actuator/meter.hpp"
#include "common/actuation.hpp"
#include "common/clock.hpp"
#include "common/stats/network_trial.hpp"
#include "provision/minute/minute.hpp"

namespace wattle::actuator {

class WorkloadMargin {
 public:
  explicit WorkloadMargin(stats::NetworkTrial trial) : trial_(trial) {}

  double ratio() const { return now_.cpu; }
  double memory_ratio() const { return now_.memory; }
  bool student_in_use() const { return trial_.in_use(); }
  // Figures of the last minute, if it ended within a few seconds.
  const std::optional<actuation::Minute>& minute() const { return reported_; }

  // Starts from this margin, for a workload whose limits are not in force yet.
  void restart(double margin_ratio);
  void on_new_student(stats::NetworkTrial trial);
  // Sets what the last orders contain about the workload.
  void order(std::optional<actuation::Requests> requests, std::optional<actuation::MarginStep> step);
  void add_tick(const models::provision::CopyTick& tick, double elapsed_s);
  // Adds a reading of memory. `high_bytes`: the limit that the rule and the original allow; unset: none.
  void add_memory(const MemoryUse& use, std::optional<std::int64_t> high_bytes, bool hurt);

  // Readings at a tick. Call move() while our limits are in force, and stop() otherwise: latency and throttling then do
  // not depend on the margin.
  struct Readings {
    const std::string& path;
    const CpuUse& use;
    double node_cores = 0;
    double used_over_peak = 1;
  };
  void move(const Readings& now, MarginStudent& student, std::vector<Error>& troubles, MonoTime at);
  void stop();

 private:
  struct Margins {
    double cpu = 0, memory = models::provision::kRuleMemory;
  };
  // Counters at the start of the minute.
  struct Start {
    CpuUse use;
    std::optional<actuation::Requests> requests;
    MonoTime at;
  };
  void end_minute(const Readings& now, MarginStudent& student, std::vector<Error>& troubles);
  void take_step(MonoTime at);
  void try_student(const std::string& path, double throttled_ratio, double most_ratio, std::vector<Error>& troubles);

  Margins now_, ended_with_;              // in force; at the end of the last minute
  double rule_margin_ = 0;                // next value by the rule
  models::provision::MinuteWatch watch_;  // this minute, as a student sees it
  MemoryLooks looks_;                     // this minute's
  std::optional<Start> start_;            // of this minute
  std::optional<actuation::Requests> requests_;
  std::optional<actuation::MarginStep> step_;
  std::uint64_t minutes_ = 0;  // finished minutes
  std::optional<actuation::Minute> reported_;
  bool memory_limited_ = false;          // by us, or by the original limit where the rule would allow more
  bool steered_ = false, held_ = false;  // this minute: a step is in force; a step is awaited
  bool by_student_ = false;              // this minute: the student's margin is in force
  stats::NetworkTrial trial_;            // of the student
};

}  // namespace wattle::actuator
