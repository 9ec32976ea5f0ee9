#include "controller/trainer/trainer.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "models/frozen/prefixed.hpp"
#include "models/frozen/pretrained.hpp"
#include "placement/learn/tabular.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;
constexpr Duration kIdle = milliseconds(250);
constexpr Duration kRateWindow = std::chrono::seconds(2);
constexpr std::size_t kRecent = 16;
constexpr int kNice = 10;
// Equal to the digest in a checkpoint of the same network.
std::string digest_of(const models::QTrainer& network) { return models::network_digest(network.weights()); }

placement::LearnerOptions options_of(const LearnConfig& config) {
  placement::LearnerOptions options;
  options.seed = static_cast<std::uint64_t>(config.seed);
  options.replay_capacity = static_cast<std::size_t>(config.replay);
  options.batch = static_cast<std::size_t>(config.batch);
  options.warmup = static_cast<std::size_t>(config.warmup);
  options.shortlist = config.shortlist;
  options.n_step = static_cast<std::size_t>(config.n_step);
  options.tau_s = config.tau_s;
  options.reward_scale = config.reward_scale;
  if (config.tabular) placement::learn_with_table(options);
  options.settle_expiry_s = seconds(config.settle_expiry);
  return options;
}

// Under such a reward a learned network serves once its choices cost less on copies of the cluster
// (placement/decide/decision_engine). Anchored to the trusted network it could hardly leave choices that its rewards
// contradict.
bool gate_judges(const placement::RewardConfig& reward) {
  return reward.preset == placement::Preset::weighted && reward.weights.energy > 0;
}

}  // namespace

Result<ServingModel::Network> freeze_checked(const models::QTrainer& trainer, double max_abs_residual,
                                             const std::deque<models::Observation>& recent, bool on_prior) {
  WATTLE_TRY(auto frozen, placement::network_of(trainer.weights(), trainer.steps(), "trained network", on_prior));
  std::vector<float> out;
  for (const models::Observation& observation : recent) {
    out.assign(observation.nodes, 0.0F);
    frozen->residual(observation, out);
    for (const float residual : out) {
      if (!std::isfinite(residual) || std::abs(static_cast<double>(residual)) > max_abs_residual)
        return fail(Errc::out_of_range, "trained network",
                    "returned " + std::to_string(residual) + " on a recent decision",
                    "it is not used; lower learn.learning_rate or raise learn.max_abs_residual");
    }
  }
  return ServingModel::Network(std::move(frozen));
}

Trainer::Trainer(const LearnConfig& config, const placement::RewardConfig& reward, models::CheckpointDir checkpoints,
                 std::unique_ptr<models::QTrainer> network, ServingModel& slot, const std::string& data_dir,
                 const Clock& clock, const Log& log)
    : config_(config),
      reward_(reward),
      checkpoints_(std::move(checkpoints)),
      network_(std::move(network)),
      untrained_(network_->checkpoint()),
      learner_(options_of(config), reward, *network_),
      anchor_(*network_, config.anchor_every),
      slot_(slot),
      clock_(clock),
      log_(log),
      curves_(data_dir + "/events") {}

Result<std::unique_ptr<Trainer>> Trainer::make(const LearnConfig& config, const placement::RewardConfig& reward,
                                               const std::string& data_dir, std::unique_ptr<models::QTrainer> network,
                                               ServingModel& slot, const Clock& clock, const Log& log,
                                               const NetworkOrigin& origin, BeginNetwork begin) {
  WATTLE_TRY(models::CheckpointDir checkpoints, models::CheckpointDir::open_(data_dir + "/checkpoints"));
  std::unique_ptr<Trainer> trainer(
      new Trainer(config, reward, std::move(checkpoints), std::move(network), slot, data_dir, clock, log));
  trainer->origin_ = origin;
  trainer->begin_ = std::move(begin);
  trainer->serving_from_ = origin.from;
  if (!origin.from.empty()) trainer->trust(trainer->network_->weights(), origin, false);
  trainer->resume();
  trainer->trust_promoted();
  if (!trainer->origin_.on_prior) trainer->learner_.set_reward(trainer->learned_by());
  trainer->serve();
  trainer->list_models();
  trainer->tell();
  trainer->start_periods();
  return trainer;
}

Result<std::unique_ptr<Trainer>> Trainer::start(const LearnConfig& config, const placement::RewardConfig& reward,
                                                const std::string& data_dir, std::unique_ptr<models::QTrainer> network,
                                                ServingModel& slot, const Clock& clock, const Log& log,
                                                const NetworkOrigin& origin, BeginNetwork begin) {
  WATTLE_TRY(auto trainer,
             make(config, reward, data_dir, std::move(network), slot, clock, log, origin, std::move(begin)));
  trainer->thread_ = std::thread([raw = trainer.get()] { raw->run(); });
  return trainer;
}

Trainer::~Trainer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Trainer::post(LearningNews news) {
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
  }
  wake_.notify_one();
}

std::future<Result<std::string>> Trainer::order(ModelOrder order) {
  PendingOrder pending{std::move(order), {}};
  auto answer = pending.answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(pending));
  }
  wake_.notify_one();
  return answer;
}

ModelList Trainer::models() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

TrainerFigures Trainer::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

// An unusable checkpoint is logged and left alone; learning starts from scratch.
void Trainer::resume() {
  const auto loaded = checkpoints_.load_newest(placement::feature_schema_hash());
  if (!loaded) {
    if (loaded.error().code == Errc::not_found) {
      log_.info("learning.started", "learning starts from scratch",
                {{"checkpoints", checkpoints_.path()}, {"why", loaded.error().what}});
    } else {
      log_.error("checkpoint.unusable", "the checkpoint is not usable; learning starts from scratch",
                 {{"error", loaded.error()}});
    }
    return;
  }
  for (const Error& skipped : loaded->skipped)
    log_.warn("checkpoint.skipped", "a checkpoint was skipped", {{"error", skipped}});
  const models::Weights network = models::with_prefix(loaded->tensors, models::kNetworkPrefix);
  const bool fits = fits_preset(loaded->manifest);
  if (!fits) {  // the preset was changed while learning was off
    keep_for(loaded->manifest.reward, models::without_prefix(loaded->tensors, models::kLearnerPrefix),
             loaded->manifest);
    begin_preset();
  } else if (const auto restored = network_->restore(network); !restored) {
    log_.error("checkpoint.mismatch", "the checkpoint belongs to another network; learning starts from scratch",
               {{"error", restored.error()}});
    return;
  }
  if (const auto restored = learner_.restore(models::with_prefix(loaded->tensors, models::kLearnerPrefix)); !restored)
    log_.error("replay.lost", "the network was restored without its replay buffer", {{"error", restored.error()}});
  if (fits) {
    origin_ = {loaded->name, on_prior(loaded->manifest)};
    serving_from_ = loaded->name;
    trust_kept(*loaded);
  }
  if (fits && loaded->manifest.reward.empty() && shut()) {
    log_.warn("checkpoint.other_preset",
              "the checkpoint was trained with another reward preset; learning starts from scratch",
              {{"file", loaded->file}});
    begin_preset();
  }
  // Outcomes that were awaited died with the process that awaited them; the chain must not wait for them.
  learner_.expire(clock_.mono() + std::chrono::hours(24));
  const auto last = loaded->manifest.figures.find("last_decision");
  if (last != loaded->manifest.figures.end() && last->second > 0)
    last_decision_ = last_decision_at_start_ = static_cast<std::uint64_t>(last->second);
  own_.resumed_steps = network_->steps();
  own_.resumed = true;
  from_step_ = network_->steps();
  // The age distinguishes a restored copy from the last process's checkpoint.
  log_.info("learning.resumed", "learning has resumed from a checkpoint",
            {{"file", loaded->file},
             {"step", network_->steps()},
             {"age_s", seconds(clock_.wall() - loaded->manifest.wall)},
             {"replay", static_cast<std::uint64_t>(learner_.figures().replay)}});
}

void Trainer::start_periods() {
  const MonoTime start = clock_.mono();
  next_step_ = start;
  next_save_ = start + config_.checkpoint_every;
  next_rate_ = start + kRateWindow;
  next_curves_ = start + Curves::kEvery;
  steps_at_rate_ = network_->steps();
  budget_.heard(learner_.figures().settled);
}

void Trainer::run() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);  // decisions go first; a refusal changes nothing
  for (bool stop = false; !stop;) {
    std::vector<LearningNews> news;
    std::vector<PendingOrder> orders;
    {
      std::unique_lock lock(mutex_);
      const Duration pause = std::clamp(next_step_ - clock_.mono(), Duration{0}, kIdle);
      if (pause > Duration{0}) wake_.wait_for(lock, pause, [&] { return stop_ || !news_.empty() || !orders_.empty(); });
      news.swap(news_);
      orders.swap(orders_);
      stop = stop_;
    }
    turn(std::move(news), std::move(orders), stop);
  }
}

void Trainer::turn() {
  std::vector<LearningNews> news;
  std::vector<PendingOrder> orders;
  {
    const std::lock_guard lock(mutex_);
    news.swap(news_);
    orders.swap(orders_);
  }
  turn(std::move(news), std::move(orders), false);
}

void Trainer::turn(std::vector<LearningNews> news, std::vector<PendingOrder> orders, bool stop) {
  for (LearningNews& item : news) take(std::move(item));
  for (PendingOrder& each : orders) obey(std::move(each));
  const MonoTime now = clock_.mono();
  if (!stop && now >= next_step_) step();
  if (now >= next_rate_) {
    learner_.expire(now);
    const double passed_s = seconds(now - next_rate_ + kRateWindow);
    own_.steps_per_s = static_cast<double>(network_->steps() - steps_at_rate_) / passed_s;
    steps_at_rate_ = network_->steps();
    next_rate_ = now + kRateWindow;
  }
  if (stop || now >= next_curves_) draw_curves();
  if (unsaved_ && (stop || now >= next_save_)) save();
  tell();
}

void Trainer::take(LearningNews news) {
  unsaved_ = true;
  if (auto* placed = std::get_if<PlacedNews>(&news)) {
    if (!origin_.on_prior) placement::relabel(placed->observation, learner_.reward());
    recent_.push_back(placed->observation);
    if (recent_.size() > kRecent) recent_.pop_front();
    last_decision_ = std::max(last_decision_, placed->decision_id);
    learner_.placed(placed->decision_id, std::move(placed->observation), placed->action, placed->when);
    return;
  }
  if (const auto* judge = std::get_if<RewardNews>(&news)) {
    judge_by(judge->reward);
    return;
  }
  if (const auto* lost = std::get_if<LostNews>(&news)) {
    learner_.lost(lost->decision_id);
    return;
  }
  auto& settled = std::get<SettledNews>(news);
  const auto reward = learner_.settled(settled.decision_id, std::move(settled.outcome));
  if (reward) {
    curves_.add(*reward);
  } else {
    ++own_.unmatched;
  }
}

void Trainer::step() {
  const MonoTime begin = clock_.mono();
  budget_.heard(learner_.figures().settled);
  if (budget_.empty()) {
    next_step_ = begin + kIdle;
    return;
  }
  const auto stats = learner_.step();
  if (stats && *stats && !gate_judges(reward_))
    if (const Status held = anchor_.stepped(learner_.last_batch()); !held && own_.problem != held.error().message()) {
      log_.error("anchor.disabled", "learning is not anchored to the trusted network", {{"error", held.error()}});
      own_.problem = held.error().message();
    }
  const MonoTime end = clock_.mono();
  const Duration by_rate = from_seconds(1 / config_.steps_per_s);
  const Duration by_duty = from_seconds(seconds(end - begin) / config_.duty_ratio);
  next_step_ = begin + std::max(by_rate, by_duty);
  if (!stats) {
    ++own_.failed_steps;
    next_step_ = end + kIdle;
    if (own_.problem != stats.error().message())
      log_.error("learning.step_failed", "a gradient step failed", {{"error", stats.error()}});
    own_.problem = stats.error().message();
    return;
  }
  if (!*stats) {
    next_step_ = end + kIdle;  // not enough replay yet
    return;
  }
  budget_.drawn(static_cast<std::uint64_t>(config_.batch));
  unsaved_ = true;
  curves_.add(**stats);
  if (network_->steps() - frozen_at_ >= static_cast<std::uint64_t>(config_.freeze_every_steps)) serve();
}

void Trainer::serve() {
  frozen_at_ = network_->steps();
  auto frozen = freeze_checked(*network_, config_.max_abs_residual, recent_, origin_.on_prior);
  if (!frozen) {
    ++own_.networks_refused;
    own_.problem = frozen.error().message();
    log_.error("network.refused", "the new network was rejected; the old one stays in use",
               {{"error", frozen.error()}});
    return;
  }
  ++own_.networks;
  serving_network_ = digest_of(*network_);
  if (frozen_at_ != from_step_) serving_from_.clear();
  slot_.set(std::move(*frozen),
            {serving_network_, serving_from_, std::string(placement::to_string(reward_.preset)), origin_.from});
}

models::Manifest Trainer::manifest() const {
  models::Manifest manifest;
  manifest.schema = placement::feature_schema_hash();
  manifest.step = network_->steps();
  manifest.wall = clock_.wall();
  manifest.figures = {{"last_decision", static_cast<double>(last_decision_)},
                      {"loss", learner_.figures().loss},
                      {"mean_reward", learner_.figures().mean_reward}};
  manifest.network = digest_of(*network_);
  manifest.reward = placement::to_string(reward_.preset);
  manifest.on_prior = origin_.on_prior;
  if (trusted_chosen_)
    manifest.trusted =
        models::TrustedNetwork{trusted_origin_.from, trusted_origin_.on_prior, trusted_origin_.certificate};
  return manifest;
}

void Trainer::save() {
  next_save_ = clock_.mono() + config_.checkpoint_every;
  models::Weights all = networks();
  models::add_prefixed(all, learner_.save(), models::kLearnerPrefix);
  if (const auto saved = checkpoints_.save(all, manifest()); !saved) {
    ++own_.failed_checkpoints;
    own_.problem = saved.error().message();
    log_.error("checkpoint.write_failed", "the checkpoint was not written", {{"error", saved.error()}});
    return;
  }
  unsaved_ = false;
  ++own_.checkpoints;
  list_models();
}

void Trainer::tell() {
  const placement::LearnerFigures& learned = learner_.figures();
  own_.steps = network_->steps();
  own_.replay = learned.replay;
  own_.placed = learned.placed;
  own_.settled = learned.settled;
  own_.expired = learned.expired;
  const bool stepped = learned.steps_judged > 0;
  own_.loss = stepped ? std::optional(learned.loss) : std::nullopt;
  own_.mean_q = stepped ? std::optional(learned.mean_q) : std::nullopt;
  own_.td_error = learned.td_error;
  own_.reward_centre = learned.steps > 0 ? std::optional(learned.centre) : std::nullopt;
  const std::lock_guard lock(mutex_);
  figures_ = own_;
  models_.serving_network = serving_network_;
  models_.serving_from = serving_from_;
}

}  // namespace wattle::controller
