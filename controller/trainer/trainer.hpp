// trainer: the thread that learns. It owns the learner and the trainable network.
// Flow     post() news -> replay -> gradient steps within a budget -> at intervals a frozen, checked network into the
//          slot -> checkpoints: network, optimiser and replay together, resumed at start; curves for
//          TensorBoard in data_dir/events. Orders about networks (model_orders) take their turn with news. The networks
//          themselves are in network_store
// Bounds   at most steps_per_s, and duty_ratio of one core; lowest scheduling priority above idle
// Errors   start: malformed or io of the checkpoint directory; later errors are counted and logged, and learning
//          continues
// Threads  post(), order(), models() and figures() from any; the rest runs on its own thread, or in turn() if made
//          without one
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "controller/config.hpp"
#include "controller/trainer/curves.hpp"
#include "controller/trainer/initial_network.hpp"
#include "controller/trainer/learning.hpp"
#include "controller/trainer/network_store.hpp"
#include "controller/trainer/replay_budget.hpp"
#include "controller/trainer/serving_model.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/learn/learner.hpp"

namespace wattle::controller {

class Trainer final : public Learning {
 public:
  // `origin`: origin of the weights of `network`, until a checkpoint or a step replaces them. `begin`: makes the
  // initial network of another preset that has none here; without it, the network as given.
  static Result<std::unique_ptr<Trainer>> start(const LearnConfig& config, const placement::RewardConfig& reward,
                                                const std::string& data_dir, std::unique_ptr<models::QTrainer> network,
                                                ServingModel& slot, const Clock& clock, const Log& log,
                                                const NetworkOrigin& origin = {}, BeginNetwork begin = {});
  // The same without a thread, for callers that control the clock: turn() does all due work, and no checkpoint is
  // written at the end.
  static Result<std::unique_ptr<Trainer>> make(const LearnConfig& config, const placement::RewardConfig& reward,
                                               const std::string& data_dir, std::unique_ptr<models::QTrainer> network,
                                               ServingModel& slot, const Clock& clock, const Log& log,
                                               const NetworkOrigin& origin = {}, BeginNetwork begin = {});
  // Does the due work: news, orders, at most one step of learning, and writing. Only the trainer's own thread calls it,
  // if there is one.
  void turn();
  bool on() const override { return true; }
  void post(LearningNews news) override;
  std::future<Result<std::string>> order(ModelOrder order) override;
  ModelList models() const override;
  TrainerFigures figures() const override;
  std::uint64_t last_decision_id() const override { return last_decision_at_start_; }

 private:
  Trainer(const LearnConfig& config, const placement::RewardConfig& reward, models::CheckpointDir checkpoints,
          std::unique_ptr<models::QTrainer> network, ServingModel& slot, const std::string& data_dir,
          const Clock& clock, const Log& log, const NetworkOrigin& origin, BeginNetwork begin);
  void resume();
  void start_periods();
  void run(const std::stop_token& stop);
  void turn(std::vector<LearningNews> news, std::vector<PendingOrder> orders, bool stop);
  void take(LearningNews news);
  void step();
  void serve();
  void save();
  void report();
  void judge_by(const placement::RewardConfig& reward);
  void begin_preset();
  // Records that another network learns now.
  void replaced();
  void failed(const Status& done);
  Result<std::string> do_order(const ModelOrder& order);
  Result<std::string> load(const std::string& name);
  NetworkStore::Figures kept_figures() const;
  void list_models();
  void draw_curves();

  LearnConfig config_;
  std::unique_ptr<models::QTrainer> network_;
  NetworkStore networks_;
  placement::Learner learner_;
  ReplayBudget budget_;
  const Clock& clock_;
  const Log& log_;
  std::deque<models::Observation> recent_;
  std::uint64_t last_decision_ = 0, last_decision_at_start_ = 0;
  std::uint64_t frozen_at_ = 0;
  bool unsaved_ = false;
  MonoTime next_step_{}, next_save_{}, next_rate_{}, next_curves_{};
  std::uint64_t steps_at_rate_ = 0;
  TrainerFigures own_;  // the thread's; figures_ is its copy for others
  Curves curves_;

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<LearningNews> news_;
  std::vector<PendingOrder> orders_;
  ModelList models_;
  bool urgent_ = false;  // news_ has another reward
  TrainerFigures figures_;
  std::jthread thread_;  // writes a last checkpoint when it ends
};

}  // namespace wattle::controller
