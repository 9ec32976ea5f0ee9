// plan_thread: computes plans in the background; decisions continue with the current plan.
// Bounds   one plan at a time, from the fleet at the time of the request; drops requests made while a plan is computed
// Errors   none
// Threads  want() and newest() from any; its own thread makes the plans, at low priority
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "placement/plan/plan.hpp"

namespace wattle::controller {

class PlanThread final : public placement::PlanMaker {
 public:
  explicit PlanThread(placement::PlannerOptions options = {});
  void want(const placement::Fleet& fleet) override;
  std::shared_ptr<const placement::Plan> newest() override;

 private:
  void run(const std::stop_token& stop);

  const placement::PlannerOptions options_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<placement::Fleet> wanted_;
  std::shared_ptr<const placement::Plan> newest_;
  bool busy_ = false;
  std::jthread thread_;  // its end waits for the current computation
};

}  // namespace wattle::controller
