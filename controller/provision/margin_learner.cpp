#include "controller/provision/margin_learner.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "controller/provision/trial_figures.hpp"
#include "controller/trainer/trainer.hpp"
#include "models/frozen/prefixed.hpp"
#include "models/frozen/pretrained.hpp"
#include "provision/minute/choice.hpp"

namespace wattle::controller {

namespace {

constexpr std::size_t kMostRecent = 16;
constexpr std::size_t kMostNews = 10'000;
constexpr int kLearnerNice = 10;

constexpr std::string_view kStudentPrefix = "student/", kStudentTrainerPrefix = "student_trainer/";

}  // namespace

MarginLearner::MarginLearner(const MarginLearnerOptions& options, models::CheckpointDir checkpoints, Make make,
                             const Clock& clock, const Log& log)
    : options_(options),
      checkpoints_(std::move(checkpoints)),
      make_(std::move(make)),
      clock_(clock),
      log_(log),
      replay_(options.replay),
      random_(options.seed),
      saved_at_(clock.mono()) {}

Result<std::unique_ptr<MarginLearner>> MarginLearner::make(const MarginLearnerOptions& options,
                                                           const std::string& data_dir, Make make, const Clock& clock,
                                                           const Log& log) {
  const bool drpc = options.reward == models::provision::TeacherReward::drpc;
  WATTLE_TRY(models::CheckpointDir checkpoints,
             models::CheckpointDir::open_(data_dir + (drpc ? "/provisioning-drpc" : "/provisioning")));
  std::unique_ptr<MarginLearner> learner(
      new MarginLearner(options, std::move(checkpoints), std::move(make), clock, log));
  learner->resume();
  learner->report();
  return learner;
}

Result<std::unique_ptr<MarginLearner>> MarginLearner::start(const MarginLearnerOptions& options,
                                                            const std::string& data_dir, Make make, const Clock& clock,
                                                            const Log& log) {
  WATTLE_TRY(auto learner, MarginLearner::make(options, data_dir, std::move(make), clock, log));
  learner->thread_ = std::jthread([raw = learner.get()](const std::stop_token& stop) { raw->run(stop); });
  return learner;
}

void MarginLearner::post(ObservedMinute minute) {
  {
    const std::lock_guard lock(mutex_);
    if (news_.size() >= kMostNews) return;
    news_.push_back(std::move(minute));
  }
  wake_.notify_one();
}

void MarginLearner::keep(const TrialState& state, const ReleaseState& release) {
  {
    const std::lock_guard lock(mutex_);
    const bool changes = !state_ || state_->mode != state.mode || state_->rolled_back != state.rolled_back ||
                         !release_ || release_->stage != release.stage || release_->version != release.version;
    state_ = state;
    release_ = release;
    if (!changes) return;
    changed_ = true;
  }
  wake_.notify_one();
}

MarginLearner::Network MarginLearner::network() const {
  const std::lock_guard lock(mutex_);
  return network_;
}

std::shared_ptr<const Student> MarginLearner::student() const {
  const std::lock_guard lock(mutex_);
  return student_;
}

void MarginLearner::retrain() {
  const std::lock_guard lock(mutex_);
  retrain_ = true;
}

MarginLearnerFigures MarginLearner::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

bool MarginLearner::begin() {
  if (trainer_ || hopeless_) return trainer_ != nullptr;
  auto made = make_();
  if (made) {
    trainer_ = std::move(*made);
    return true;
  }
  hopeless_ = true;
  failed("margins.unable", "the provisioning teacher cannot learn", made.error());
  return false;
}

void MarginLearner::resume() {
  const auto loaded = checkpoints_.load_newest(std::string(models::provision::kLayout));
  if (!loaded) {
    if (loaded.error().code != Errc::not_found)
      log_.error("margins.restarted", "the provisioning teacher starts from scratch", {{"error", loaded.error()}});
    return;
  }
  kept_ = state_of(loaded->manifest.figures);
  state_ = kept_;
  resume_student(*loaded);
  const models::Weights network = models::with_prefix(loaded->tensors, models::kNetworkPrefix);
  if (network.empty() || !begin()) return;  // nothing had been learned yet
  if (const Status restored = trainer_->restore(network); !restored) {
    log_.error("margins.restarted", "the provisioning teacher starts from scratch", {{"error", restored.error()}});
    return;
  }
  if (const Status restored = replay_.restore(models::with_prefix(loaded->tensors, models::kLearnerPrefix)); !restored)
    log_.error("margins.replay_lost", "the provisioning network was restored without its recorded minutes",
               {{"error", restored.error()}});
  own_.resumed_steps = trainer_->steps();
  if (trainer_->steps() > 0) freeze();
  log_.info(
      "margins.resumed", "the provisioning teacher has resumed",
      {{"file", loaded->file}, {"step", trainer_->steps()}, {"minutes", static_cast<std::uint64_t>(replay_.size())}});
}

// A student that cannot be restored is trained again, under a new version.
void MarginLearner::resume_student(const models::LoadedCheckpoint& loaded) {
  kept_release_ = release_of(loaded.manifest.figures);
  release_ = kept_release_;
  if (!kept_release_) return;
  const TrainedFigures trained = trained_of(loaded.manifest.figures);
  versions_ = std::max(kept_release_->version, trained.version);
  const bool stands =
      kept_release_->stage == stats::NetworkState::on_trial || kept_release_->stage == stats::NetworkState::in_use;
  models::Weights weights = models::with_prefix(loaded.tensors, kStudentPrefix);
  if (!weights.empty() && trained.version > 0 && (stands || trained.version > kept_release_->version)) {
    auto student = student_of(trained.version, std::move(weights), trained.agreement);
    if (student)
      student_ = std::move(*student);
    else
      log_.error("student.restore_failed", "the student was not restored", {{"error", student.error()}});
  }
  if (stands && !student_) kept_release_->stage = stats::NetworkState::withdrawn;
  const models::Weights trainer = models::with_prefix(loaded.tensors, kStudentTrainerPrefix);
  if (trainer.empty() || student_) return;
  auto made = make_();
  if (!made || !(*made)->restore(trainer)) return;
  students_ = std::make_unique<models::provision::StudentTrainer>(options_.student, std::move(*made));
}

void MarginLearner::run(const std::stop_token& stop) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()),
              kLearnerNice);  // decisions have priority; a failure is harmless
  do {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, std::chrono::seconds(10), [this] { return changed_ || !news_.empty(); });
    }
    turn(stop);
  } while (!stop.stop_requested());
  save();
}

void MarginLearner::turn(const std::stop_token& stop) {
  std::vector<ObservedMinute> news;
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    news.swap(news_);
    changed = std::exchange(changed_, false);
    if (std::exchange(retrain_, false)) {
      student_.reset();
      students_.reset();
      std::erase_if(news, [](const ObservedMinute& minute) { return minute.lesson.has_value(); });
    }
  }
  unsaved_ = unsaved_ || changed;
  // Many minutes may wait, and each may cost a gradient step: figures are updated after each, and stopping waits for
  // only one.
  for (ObservedMinute& minute : news) {
    if (stop.stop_requested()) break;
    take(std::move(minute));
    report();
  }
  if (changed || clock_.mono() - saved_at_ >= options_.checkpoint_every) save();
}

void MarginLearner::take(ObservedMinute minute) {
  unsaved_ = true;
  if (minute.lesson) return learn_lesson(std::move(*minute.lesson));
  if (minute.ends) return replay_.end(minute.service);
  ++own_.minutes;
  if (!begin()) return;
  recent_.push_back(minute.state);
  if (recent_.size() > kMostRecent) recent_.pop_front();
  replay_.add(minute.service, minute.reward, std::move(minute.state), minute.action);
  if (replay_.open(minute.service) >= options_.stretch) replay_.end(minute.service);
  if (replay_.size() >= options_.warmup) step();
  if (trainer_->steps() >= frozen_at_ + options_.freeze_every) freeze();
}

bool MarginLearner::begin_student() {
  if (students_) return true;
  if (hopeless_) return false;
  auto made = make_();
  if (!made) {
    failed("student.unable", "the controller cannot train students", made.error());
    return false;
  }
  students_ = std::make_unique<models::provision::StudentTrainer>(options_.student, std::move(*made));
  return true;
}

void MarginLearner::learn_lesson(models::PolicyExample lesson) {
  if (student() || !begin_student()) return;
  auto trained = students_->add(std::move(lesson));
  if (!trained) return failed("student.step_failed", "a gradient step of the student failed", trained.error());
  if (*trained) offer(std::move(**trained));
}

void MarginLearner::offer(models::Weights weights) {
  auto student =
      student_of(versions_ + 1, std::move(weights), students_->agreement().value_or(models::provision::Agreement()));
  if (!student) return failed("student.unusable", "the trained student is not usable", student.error());
  ++versions_;
  students_.reset();
  log_.info(
      "student.trained", "a student was trained",
      {{"version", versions_}, {"agreement", (*student)->agreement.student}, {"rule", (*student)->agreement.rule}});
  const std::lock_guard lock(mutex_);
  student_ = std::move(*student);
}

void MarginLearner::step() {
  batch_.resize(options_.batch);
  replay_.draw(batch_, [this](std::size_t of) { return stats::pick(random_, of); });
  std::vector<const models::Transition*> borrowed;
  for (const models::Transition& each : batch_) borrowed.push_back(&each);
  const auto stepped = trainer_->step(borrowed);
  if (!stepped)
    return failed("margins.step_failed", "a gradient step of the provisioning teacher failed", stepped.error());
  own_.loss = own_.loss ? *own_.loss + 0.05 * (stepped->loss - *own_.loss) : stepped->loss;
}

void MarginLearner::freeze() {
  frozen_at_ = trainer_->steps();
  auto frozen = freeze_checked(*trainer_, options_.max_abs_residual, recent_);
  if (!frozen)
    return failed("margins.network_failed", "the network of the provisioning teacher is not usable", frozen.error());
  ++own_.networks;
  const std::lock_guard lock(mutex_);
  network_ = std::move(*frozen);
}

// Without a network, saves only the trial's state: a rollback must survive a restart.
void MarginLearner::save() {
  saved_at_ = clock_.mono();
  models::Manifest manifest;
  models::Weights all;
  {
    const std::lock_guard lock(mutex_);
    if (!state_ || !unsaved_) return;
    add_figures(manifest.figures, *state_);
    if (release_) add_figures(manifest.figures, *release_);
    if (student_) {
      models::add_prefixed(all, student_->weights, kStudentPrefix);
      add_figures(manifest.figures, TrainedFigures{student_->version, student_->agreement});
    }
  }
  unsaved_ = false;
  if (students_) models::add_prefixed(all, students_->trainer().checkpoint(), kStudentTrainerPrefix);
  if (trainer_) {
    models::add_prefixed(all, trainer_->checkpoint(), models::kNetworkPrefix);
    manifest.network = models::network_digest(trainer_->weights());
    manifest.step = trainer_->steps();
  }
  models::add_prefixed(all, replay_.save(), models::kLearnerPrefix);
  manifest.schema = models::provision::kLayout;
  manifest.wall = clock_.wall();
  if (const auto saved = checkpoints_.save(all, manifest); !saved)
    failed("margins.checkpoint_failed", "a checkpoint of the provisioning teacher was not written", saved.error());
  report();
}

void MarginLearner::failed(const char* event, const char* message, const Error& error) {
  if (own_.failures++ == 0 || own_.problem != error.what) log_.error(event, message, {{"error", error}});
  own_.problem = error.what;
}

void MarginLearner::report() {
  if (trainer_) own_.steps = trainer_->steps();
  own_.replay = replay_.size();
  own_.lessons = students_ ? students_->lessons() : 0;
  own_.student_steps = students_ ? students_->steps() : 0;
  if (students_) own_.agreement = students_->agreement();
  const std::lock_guard lock(mutex_);
  figures_ = own_;
}

}  // namespace wattle::controller
