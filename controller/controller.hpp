// controller: the threads of a controller and their lifetime.
// Threads  one loop owns the three sockets, the state and the decisions; one trainer; one
//          writer of the store; two that follow an API server; HTTP workers that ask the loop.
//          start() and the destructor from one thread
// Errors   start: conflict (port or data_dir in use), denied and malformed (keys, allow list), io (data_dir, store)
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "common/http/server.hpp"
#include "common/log.hpp"
#include "common/pulse.hpp"
#include "common/service_notify.hpp"
#include "common/state_lock.hpp"
#include "common/transport/sockets.hpp"
#include "controller/config.hpp"
#include "controller/enrol/enrolment.hpp"
#include "controller/kube/watch.hpp"
#include "controller/loop.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/provision/prometheus.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/store/background_writer.hpp"
#include "controller/store/store.hpp"
#include "controller/task_queue.hpp"
#include "controller/trainer/trainer.hpp"

namespace wattle::controller {

struct PageParts;

class Controller {
 public:
  // `notify` is called at each turn of the loop and must outlive the controller; it may be null.
  static Result<std::unique_ptr<Controller>> start(const ControllerConfig& config, const Clock& clock, const Log& log,
                                                   ServiceNotify* notify = nullptr);
  ~Controller();  // stops asking, deciding and learning, in that order, and writes a last checkpoint

  const Endpoints& endpoints() const { return endpoints_; }

 private:
  Controller(const ControllerConfig& config, MonoTime now) : config_(config), allow_(config.allow_file), pulse_(now) {}
  Status start_parts(const Clock& clock, const Log& log, ServiceNotify* notify);
  Status start_learning(const Clock& clock, const Log& log);
  Status start_margins(const Clock& clock, const Log& log);
  Status start_store(const Clock& clock, const Log& log);
  placement::ClusterModel start_cluster_model(const Log& log);
  Status start_watch(const Clock& clock, const Log& log);
  Status start_rollout(const Clock& clock, const Log& log);
  Status lock_state(const Log& log);
  Status let_page_change(PageParts& page);
  Status start_http(const Clock& clock, const Log& log);
  http::Response of_store(const std::string& what, const std::map<std::string, std::string>& arguments, WallTime now);
  Status start_enrolment(const std::string& public_key, const Clock& clock, const Log& log);

  ControllerConfig config_;
  placement::Preset configured_preset_ = placement::Preset::weighted;  // learn.pretrained names a file for this one
  std::optional<StateLock> lock_;                                      // released last
  std::string ran_before_;  // evidence that a controller ran here before; empty: none
  Endpoints endpoints_;
  transport::AllowFile allow_;
  transport::Context context_;
  ServingModel networks_;
  std::unique_ptr<TaskQueue> tasks_;
  std::unique_ptr<Learning> learning_ = std::make_unique<Learning>();
  std::string mode_reason_;
  std::unique_ptr<MarginLearner> margin_learner_;
  std::unique_ptr<PrometheusRates> traffic_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<BackgroundWriter> saver_;
  std::optional<RolloutManager> rollout_;
  std::optional<kube::ApiServer> api_;
  Watch watch_{[this] { tasks_->wake(); }};
  std::unique_ptr<power::SleepControl> sleep_;
  std::unique_ptr<Provisioning> provisioning_;
  std::unique_ptr<Loop> loop_;
  std::atomic<bool> stop_{false};
  Pulse pulse_;  // the loop's
  std::thread thread_;
  std::shared_ptr<http::RefusalCounts> http_refusals_ = std::make_shared<http::RefusalCounts>();
  std::shared_ptr<http::Broadcast> live_ = std::make_shared<http::Broadcast>();
  std::vector<std::string> routes_;  // routes of http_, such as "GET /metrics"
  std::unique_ptr<http::Server> http_;
  std::shared_ptr<http::RefusalCounts> enrol_refusals_ = std::make_shared<http::RefusalCounts>();
  EnrolCounts enrol_counts_;
  std::unique_ptr<Enrolment> enrolment_;
  std::unique_ptr<http::Server> enrol_server_;
};

}  // namespace wattle::controller
