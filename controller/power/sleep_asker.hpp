// sleep_asker: fetches what the sleep plan needs from elsewhere, on a separate thread: the answers of power drivers
// (node_probes.hpp) and the PodDisruptionBudgets of the API server.
// Errors   those of the drivers are in their answers. Budgets that cannot be listed are logged once in ten minutes and
//          in problem(); the plan then has none
// Threads  the loop's
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/http_api.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "controller/power/disruption_budgets.hpp"
#include "controller/power/node_probes.hpp"
#include "controller/power/task_thread.hpp"

namespace wattle::controller::power {

class SleepAsker {
 public:
  // `drivers`: null: no driver is asked. Clock and log must outlive this object.
  SleepAsker(std::optional<kube::ApiServer> api, std::shared_ptr<const PowerConfig> drivers,
             std::shared_ptr<NodePower> power, const Clock& clock, const Log& log);
  bool busy() const { return thread_.busy(); }
  // Asks about these nodes, unless it is busy.
  void begin(std::vector<ToProbe> nodes);
  // Takes new answers; returns whether there are any.
  bool take();

  const std::map<std::string, ProbedNode>& probed() const { return probed_; }
  const std::vector<DisruptionBudget>& unsatisfied() const { return unsatisfied_; }
  const std::string& problem() const { return problem_; }  // why budgets are unknown; empty: they are known

 private:
  void take(Result<std::vector<DisruptionBudget>> listed);

  const Clock& clock_;
  const Log& log_;
  std::map<std::string, ProbedNode> probed_;
  std::vector<DisruptionBudget> unsatisfied_;
  std::string problem_;
  LogThrottle problems_logged_{std::chrono::minutes(10)};
  std::unique_ptr<kube::HttpApi> api_;  // used by the thread
  std::unique_ptr<NodeProbes> probes_;  // used by the thread; null: every driver is assumed
  TaskThread thread_;
};

}  // namespace wattle::controller::power
