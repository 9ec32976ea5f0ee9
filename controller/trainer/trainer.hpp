// trainer: the one thread that learns. It owns the learner and the trainable network.
// Flow     post() news -> replay -> gradient steps within a budget -> every so many steps a frozen, checked network
//          into the slot -> checkpoints: network, optimiser and replay together, resumed at start; curves for
//          TensorBoard in data_dir/events. Orders about networks (model_orders) take their turn with news; each reward
//          preset has its own network (preset_change)
// Bounds   at most steps_per_s, and duty_ratio of one core; lowest scheduling priority but idle
// Errors   start: malformed or io of the checkpoint directory; later they are counted and logged, learning goes on
// Threads  post(), order(), models() and figures() from any; the rest runs on its own thread, or in turn() if made
//          without one
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "controller/config.hpp"
#include "controller/decisions/news.hpp"
#include "controller/trainer/anchor.hpp"
#include "controller/trainer/curves.hpp"
#include "controller/trainer/initial_network.hpp"
#include "controller/trainer/model_orders.hpp"
#include "controller/trainer/replay_budget.hpp"
#include "controller/trainer/serving_model.hpp"
#include "models/frozen/checkpoint.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/learn/learner.hpp"

namespace wattle::controller {

struct TrainerFigures {
  std::uint64_t steps = 0;
  std::uint64_t resumed_steps = 0;  // that the checkpoint brought
  bool resumed = false;             // from a checkpoint, whatever steps it had
  std::optional<double> steps_per_s, loss, mean_q, td_error, reward_centre;
  std::size_t replay = 0;
  std::uint64_t placed = 0, settled = 0, expired = 0, unmatched = 0;
  std::uint64_t networks = 0, networks_refused = 0;  // frozen, and kept from serving
  std::uint64_t failed_steps = 0;
  std::uint64_t checkpoints = 0, failed_checkpoints = 0;
  std::string problem;  // the last one, for people
};

// A network that serving may use: finite, and within the bound on every one of the observations.
Result<ServingModel::Network> freeze_checked(const models::QTrainer& trainer, double max_abs_residual,
                                             const std::deque<models::Observation>& recent, bool on_prior = true);

class Trainer {
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
  ~Trainer();  // ends the thread, which writes a last checkpoint
  // Does the due work: news, orders, at most one step of learning, and writing. Only the trainer's own thread calls it,
  // if there is one.
  void turn();
  void post(LearningNews news);
  // The trainer's own thread replies; unavailable if it ends first.
  std::future<Result<std::string>> order(ModelOrder order);
  ModelList models() const;
  TrainerFigures figures() const;
  // Greatest decision id that the checkpoint knows; new ids begin behind it.
  std::uint64_t last_decision_id() const { return last_decision_at_start_; }

 private:
  Trainer(const LearnConfig& config, const placement::RewardConfig& reward, models::CheckpointDir checkpoints,
          std::unique_ptr<models::QTrainer> network, ServingModel& slot, const std::string& data_dir,
          const Clock& clock, const Log& log);
  void resume();
  void start_periods();
  void run();
  void turn(std::vector<LearningNews> news, std::vector<PendingOrder> orders, bool stop);
  void take(LearningNews news);
  void step();
  void serve();
  void trust(const models::Weights& weights, const NetworkOrigin& origin, bool chosen);
  void trust_kept(const models::LoadedCheckpoint& kept);
  void save();
  void tell();
  void obey(PendingOrder pending);
  Result<std::string> do_order(const ModelOrder& order);
  Status load_network(const std::string& name);
  // preset_change.cpp
  void judge_by(const placement::RewardConfig& reward);
  void keep_for(const std::string& preset, const models::Weights& networks, const models::Manifest& manifest);
  Status begin_anew();
  void begin_preset();
  void trust_promoted();
  Result<std::string> add_network(const ModelOrder& order);
  Result<std::string> keep_trusted();
  Status of_preset(const models::LoadedCheckpoint& loaded, const std::string& name) const;
  bool fits_preset(const models::Manifest& manifest) const;
  bool on_prior(const models::Manifest& manifest) const;
  bool shut() const;
  placement::RewardConfig learned_by() const;
  Result<models::LoadedCheckpoint> load_named(const std::string& name) const;
  Result<std::string> evaluate_network(const std::string& name, const ServingNow& now) const;
  models::Manifest manifest() const;
  models::Weights networks() const;
  void list_models();
  void draw_curves();

  LearnConfig config_;
  placement::RewardConfig reward_;
  NetworkOrigin origin_;
  BeginNetwork begin_;
  models::CheckpointDir checkpoints_;
  std::unique_ptr<models::QTrainer> network_;
  models::Weights untrained_;  // network_ as it was given
  placement::Learner learner_;
  ReplayBudget budget_;
  Anchor anchor_;
  models::Weights trusted_;  // of the network that is held to, and where it is from; empty: none is
  NetworkOrigin trusted_origin_;
  bool trusted_chosen_ = false;  // by an operator or a promotion: checkpoints keep it. False: the preset begins with it
  ServingModel& slot_;
  const Clock& clock_;
  const Log& log_;
  std::deque<models::Observation> recent_;
  std::uint64_t last_decision_ = 0, last_decision_at_start_ = 0;
  std::uint64_t frozen_at_ = 0;
  std::uint64_t from_step_ = 0;  // of the network that was loaded last
  bool unsaved_ = false;
  MonoTime next_step_{}, next_save_{}, next_rate_{}, next_curves_{};
  std::uint64_t steps_at_rate_ = 0;
  TrainerFigures own_;  // the thread's; figures_ is its copy for others
  Curves curves_;
  std::string serving_network_, serving_from_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<LearningNews> news_;
  std::vector<PendingOrder> orders_;
  ModelList models_;
  bool stop_ = false;
  TrainerFigures figures_;
  std::thread thread_;
};

}  // namespace wattle::controller
