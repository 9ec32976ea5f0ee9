// bench_run: starts a service in a cgroup with a quota, and measures one cell after another on it.
// Source   the programs wattle-load (requests and their latency) and wattle-agent (watts of the node), which must be
//          installed
// Rules    the service and all processes that it starts end with this process, even if it is killed
//          (load/processes.hpp)
// Errors   not_found: a program; timeout: the service does not answer within 30 s; unavailable: it ended
// Threads  single owner; start before any thread
#pragma once

#include <string>
#include <vector>

#include "common/clock.hpp"
#include "load/processes.hpp"
#include "sim/profile/cells.hpp"
#include "sim/profile/quota_group.hpp"

namespace wattle::sim::profile {

struct BenchOptions {
  std::vector<std::string> service;  // program and arguments
  std::string url;                   // requested from the service
  std::string group = "wattle-profile";
  std::string programs;  // colon-separated folders in which the programs are searched
  Duration settle = std::chrono::seconds(5), measure = std::chrono::seconds(30);
};

class BenchRun {
 public:
  // The service answers once this returns; it has all cores until then.
  static Result<BenchRun> start(const BenchOptions& options);
  Result<Measured> measure(const Cell& cell);

 private:
  BenchRun(BenchOptions options, QuotaGroup group, load::Processes processes)
      : options_(std::move(options)), group_(std::move(group)), processes_(std::move(processes)) {}
  Status await_service();
  Status still_there();
  Result<std::string> ask(const Cell& cell, Duration span, const std::string& said_in);
  // Waits until the process group has ended; unavailable: the service ended first; timeout: `patience` has passed.
  Status await(pid_t group, const std::string& name, Duration patience);

  BenchOptions options_;
  QuotaGroup group_;  // destroyed after its processes have ended
  load::Processes processes_;
  std::string load_program_, agent_program_;  // agent: empty if it does not exist
  pid_t service_ = 0;
};

}  // namespace wattle::sim::profile
