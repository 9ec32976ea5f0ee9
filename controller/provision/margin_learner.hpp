// margin_learner: the thread that trains the provisioning network on observed minutes (provision/minute/minute_replay),
// and its student for nodes on lessons (provision/minute/student_trainer).
// Flow     post() -> replay -> a gradient step for each minute, once there are enough -> at intervals a frozen, checked
//          network into the slot -> checkpoints in data_dir/provisioning (provisioning-drpc): network, optimiser,
//          replay and the trial's state, resumed at start
// Student  trained on lessons while there is none; retrain() drops it, and the next one is trained on later lessons.
//          The student and its trainer are in the checkpoint, lessons are not
// Network  made at the first posted minute, or at start if there is a checkpoint, so that it costs nothing without such
//          a service
// Errors   start: io of the directory; an unusable checkpoint is logged, and learning starts from scratch; later errors
//          are counted
// Threads  post(), keep(), network() and figures() from any; the rest runs on its own thread, or in turn() if made
//          without one
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/stats/draws.hpp"
#include "controller/provision/student.hpp"
#include "controller/provision/student_release.hpp"
#include "models/frozen/checkpoint.hpp"
#include "models/frozen/trainer.hpp"
#include "provision/minute/drpc_reward.hpp"
#include "provision/minute/minute_replay.hpp"

namespace wattle::controller {

// Action at the end of a minute, known once the next minute has ended.
struct ObservedMinute {
  std::string service;
  bool ends = false;  // the service's sequence ends; later minutes do not continue it
  double reward = 0;  // of the minute before it
  models::Observation state;
  std::uint32_t action = 0;
  std::optional<models::PolicyExample> lesson = {};  // set: only a lesson for the student
};

struct MarginLearnerOptions {
  std::size_t batch = 64;
  std::size_t warmup = 240;  // minutes before the first step
  std::size_t stretch = 30;  // minutes of one training sequence
  std::size_t freeze_every = 15;
  Duration checkpoint_every = std::chrono::minutes(10);
  double max_abs_residual = 20;  // costs are about 1
  std::uint64_t seed = 1;
  models::provision::TeacherReward reward = models::provision::TeacherReward::waste;  // each has a separate folder
  models::provision::ReplayOptions replay{.minutes = 10'000};
  models::provision::StudentTrainerOptions student;
};

struct MarginLearnerFigures {
  std::uint64_t steps = 0, resumed_steps = 0;
  std::uint64_t minutes = 0;   // posted since the start
  std::size_t replay = 0;      // minutes in the replay
  std::uint64_t networks = 0;  // frozen
  std::uint64_t failures = 0;  // failed steps, networks and checkpoints
  std::optional<double> loss;
  std::string problem;                                    // the last one, for people
  std::size_t lessons = 0;                                // lessons kept for the next student
  std::uint64_t student_steps = 0;                        // its gradient steps
  std::optional<models::provision::Agreement> agreement;  // its last evaluation
};

class MarginLearner {
 public:
  using Make = std::function<Result<std::unique_ptr<models::PolicyTrainer>>()>;
  using Network = std::shared_ptr<const models::QNetwork>;

  static Result<std::unique_ptr<MarginLearner>> start(const MarginLearnerOptions& options, const std::string& data_dir,
                                                      Make make, const Clock& clock, const Log& log);
  // The same without a thread.
  static Result<std::unique_ptr<MarginLearner>> make(const MarginLearnerOptions& options, const std::string& data_dir,
                                                     Make make, const Clock& clock, const Log& log);
  void turn(const std::stop_token& stop = {});
  void post(ObservedMinute minute);
  // Stores the state for the next checkpoint.
  void keep(const TrialState& state, const ReleaseState& release);
  // The states from the checkpoint at the start.
  const std::optional<TrialState>& kept() const { return kept_; }
  const std::optional<ReleaseState>& kept_release() const { return kept_release_; }
  // Null if nothing was learned yet.
  Network network() const;
  // Null while none is trained.
  std::shared_ptr<const Student> student() const;
  // Drops the student and its lessons.
  void retrain();
  MarginLearnerFigures figures() const;
  void save();

 private:
  MarginLearner(const MarginLearnerOptions& options, models::CheckpointDir checkpoints, Make make, const Clock& clock,
                const Log& log);
  void resume();
  bool begin();
  void run(const std::stop_token& stop);
  void take(ObservedMinute minute);
  void learn_lesson(models::PolicyExample lesson);
  bool begin_student();
  void offer(models::Weights weights);
  void resume_student(const models::LoadedCheckpoint& loaded);
  void step();
  void freeze();
  void failed(const char* event, const char* message, const Error& error);
  void report();

  const MarginLearnerOptions options_;
  models::CheckpointDir checkpoints_;
  const Make make_;
  const Clock& clock_;
  const Log& log_;
  std::unique_ptr<models::PolicyTrainer> trainer_;
  std::unique_ptr<models::provision::StudentTrainer> students_;  // trains the next one
  std::uint64_t versions_ = 0;                                   // of students so far
  bool hopeless_ = false;                                        // this build has no trainer
  models::provision::MinuteReplay replay_;
  stats::Random random_;
  std::vector<models::Transition> batch_;
  std::deque<models::Observation> recent_;
  std::uint64_t frozen_at_ = 0;
  MonoTime saved_at_{};
  std::optional<TrialState> kept_;
  std::optional<ReleaseState> kept_release_;
  MarginLearnerFigures own_;
  bool unsaved_ = false;

  mutable std::mutex mutex_;  // guards all members below but the thread
  std::condition_variable_any wake_;
  bool changed_ = false;  // state changed that must not wait for the next checkpoint
  std::vector<ObservedMinute> news_;
  bool retrain_ = false;
  std::optional<TrialState> state_;
  std::optional<ReleaseState> release_;
  Network network_;
  std::shared_ptr<const Student> student_;
  MarginLearnerFigures figures_;
  std::jthread thread_;  // writes a last checkpoint when it ends; minutes that still wait are not learned from
};

}  // namespace wattle::controller
