#include "controller/trainer/trainer.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "models/frozen/prefixed.hpp"
#include "placement/learn/tabular.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;
constexpr Duration kIdle = milliseconds(250);
constexpr Duration kRateWindow = std::chrono::seconds(2);
constexpr std::size_t kRecent = 16;
constexpr int kNice = 10;

placement::LearnerOptions learner_options(const LearnConfig& config) {
  placement::LearnerOptions options;
  options.seed = static_cast<std::uint64_t>(config.seed);
  options.replay_capacity = kReplay;
  options.batch = static_cast<std::size_t>(config.batch);
  options.warmup = static_cast<std::size_t>(config.warmup);
  options.shortlist = config.shortlist;
  options.n_step = static_cast<std::size_t>(config.n_step);
  options.tau_s = config.tau_s;
  if (config.tabular) placement::learn_with_table(options);
  options.settle_expiry_s = seconds(config.settle_expiry);
  return options;
}

}  // namespace

Trainer::Trainer(const LearnConfig& config, const placement::RewardConfig& reward, models::CheckpointDir checkpoints,
                 std::unique_ptr<models::QTrainer> network, ServingModel& slot, const std::string& data_dir,
                 const Clock& clock, const Log& log, const NetworkOrigin& origin, BeginNetwork begin)
    : config_(config),
      network_(std::move(network)),
      networks_(config_, reward, std::move(checkpoints), *network_, slot, origin, std::move(begin), clock, log),
      learner_(learner_options(config), reward, *network_),
      clock_(clock),
      log_(log),
      curves_(data_dir + "/events") {}

Result<std::unique_ptr<Trainer>> Trainer::make(const LearnConfig& config, const placement::RewardConfig& reward,
                                               const std::string& data_dir, std::unique_ptr<models::QTrainer> network,
                                               ServingModel& slot, const Clock& clock, const Log& log,
                                               const NetworkOrigin& origin, BeginNetwork begin) {
  WATTLE_TRY(models::CheckpointDir checkpoints, models::CheckpointDir::open_(data_dir + "/checkpoints"));
  std::unique_ptr<Trainer> trainer(new Trainer(config, reward, std::move(checkpoints), std::move(network), slot,
                                               data_dir, clock, log, origin, std::move(begin)));
  trainer->resume();
  trainer->networks_.trust_promoted();
  if (!trainer->networks_.origin().on_prior) trainer->learner_.set_reward(trainer->networks_.learned_by());
  trainer->serve();
  trainer->list_models();
  trainer->report();
  trainer->start_periods();
  return trainer;
}

Result<std::unique_ptr<Trainer>> Trainer::start(const LearnConfig& config, const placement::RewardConfig& reward,
                                                const std::string& data_dir, std::unique_ptr<models::QTrainer> network,
                                                ServingModel& slot, const Clock& clock, const Log& log,
                                                const NetworkOrigin& origin, BeginNetwork begin) {
  WATTLE_TRY(auto trainer,
             make(config, reward, data_dir, std::move(network), slot, clock, log, origin, std::move(begin)));
  trainer->thread_ = std::jthread([raw = trainer.get()](const std::stop_token& stop) { raw->run(stop); });
  return trainer;
}

// Placements and outcomes wait for the thread's next turn: waking it for each pod costs more than reading its news.
void Trainer::post(LearningNews news) {
  const bool urgent = std::holds_alternative<RewardNews>(news);
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
    urgent_ = urgent_ || urgent;
  }
  if (urgent) wake_.notify_one();
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

void Trainer::resume() {
  const auto loaded = networks_.newest();
  if (!loaded) return;
  const bool fits = networks_.fits_preset(loaded->manifest);
  if (!fits) {  // the preset was changed while learning was off
    failed(networks_.keep_for_preset(*loaded));
    begin_preset();
  } else if (const auto restored = networks_.restore(*loaded); !restored) {
    log_.error("checkpoint.mismatch", "the checkpoint belongs to another network; learning starts from scratch",
               {{"error", restored.error()}});
    return;
  }
  if (const auto restored = learner_.restore(models::with_prefix(loaded->tensors, models::kLearnerPrefix)); !restored)
    log_.error("replay.lost", "the network was restored without its replay buffer", {{"error", restored.error()}});
  if (fits) networks_.resumed(*loaded);
  // Outcomes that the previous process waited for are lost; the chain must not wait for them.
  learner_.expire(clock_.mono() + std::chrono::hours(24));
  const auto last = loaded->manifest.figures.find("last_decision");
  if (last != loaded->manifest.figures.end() && last->second > 0)
    last_decision_ = last_decision_at_start_ = static_cast<std::uint64_t>(last->second);
  own_.resumed = true;
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
  budget_.settle(learner_.figures().settled);
}

void Trainer::run(const std::stop_token& stop) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);  // decisions have priority; a failure is harmless
  for (bool ends = false; !ends;) {
    std::vector<LearningNews> news;
    std::vector<PendingOrder> orders;
    {
      std::unique_lock lock(mutex_);
      const Duration pause = std::clamp(next_step_ - clock_.mono(), Duration{0}, kIdle);
      if (pause > Duration{0}) wake_.wait_for(lock, stop, pause, [&] { return urgent_ || !orders_.empty(); });
      news.swap(news_);
      orders.swap(orders_);
      urgent_ = false;
      ends = stop.stop_requested();
    }
    turn(std::move(news), std::move(orders), ends);
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
  for (PendingOrder& each : orders) each.answer.set_value(do_order(each.order));
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
  report();
}

void Trainer::take(LearningNews news) {
  unsaved_ = true;
  if (auto* placed = std::get_if<PlacedNews>(&news)) {
    if (!networks_.origin().on_prior) placement::relabel(placed->observation, learner_.reward());
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
  if (const auto reward = learner_.settled(settled.decision_id, std::move(settled.outcome))) curves_.add(*reward);
}

void Trainer::step() {
  const MonoTime begin = clock_.mono();
  budget_.settle(learner_.figures().settled);
  if (budget_.empty()) {
    next_step_ = begin + kIdle;
    return;
  }
  const auto stats = learner_.step();
  if (stats && *stats)
    if (const Status held = networks_.stepped(learner_.last_batch()); !held && own_.problem != held.error().message()) {
      log_.error("anchor.disabled", "learning is not anchored to the trusted network", {{"error", held.error()}});
      own_.problem = held.error().message();
    }
  const MonoTime end = clock_.mono();
  const Duration by_rate = from_seconds(std::max(1 / config_.steps_per_s, config_.batch / ReplayBudget::kPerS));
  const Duration by_duty = from_seconds(seconds(end - begin) / config_.duty_ratio);
  next_step_ = begin + std::max(by_rate, by_duty);
  if (!stats) {
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
  const Status served = networks_.serve(recent_);
  if (served) return;
  own_.problem = served.error().message();
  log_.error("network.refused", "the new network was rejected; the old one stays in use", {{"error", served.error()}});
}

NetworkStore::Figures Trainer::kept_figures() const {
  return {{"last_decision", static_cast<double>(last_decision_)},
          {"loss", learner_.figures().loss},
          {"mean_reward", learner_.figures().mean_reward}};
}

void Trainer::save() {
  next_save_ = clock_.mono() + config_.checkpoint_every;
  if (const Status saved = networks_.save(learner_.save(), kept_figures()); !saved) {
    ++own_.failed_checkpoints;
    own_.problem = saved.error().message();
    log_.error("checkpoint.write_failed", "the checkpoint was not written", {{"error", saved.error()}});
    return;
  }
  unsaved_ = false;
  ++own_.checkpoints;
  list_models();
}

void Trainer::judge_by(const placement::RewardConfig& reward) {
  const bool other = reward.preset != networks_.reward().preset;
  if (!(reward == networks_.reward())) curves_.begin_reward();
  if (other) failed(networks_.keep_for_preset(kept_figures()));
  networks_.set_reward(reward);
  if (other) begin_preset();
  learner_.set_reward(networks_.learned_by());
  if (!other) return;
  serve();
  list_models();
}

void Trainer::begin_preset() {
  failed(networks_.begin_preset());
  replaced();
}

void Trainer::replaced() {
  unsaved_ = true;
  steps_at_rate_ = network_->steps();
}

void Trainer::failed(const Status& done) {
  if (!done) own_.problem = done.error().message();
}

Result<std::string> Trainer::do_order(const ModelOrder& order) {
  using What = ModelOrder::What;
  if (order.what == What::load) return load(order.name);
  if (order.what == What::bring_back) return load(kPromotedModel);
  if (order.what == What::promoted) {
    const bool trusted = order.of_trusted && networks_.trusts();
    auto kept = trusted ? networks_.keep_trusted(kept_figures()) : networks_.save_as(kPromotedModel, kept_figures());
    unsaved_ = unsaved_ || (kept && !trusted);
    list_models();
    return kept;
  }
  if (order.name == kPromotedModel)
    return fail(Errc::conflict, "model " + order.name, "is reserved for the network of the last promotion",
                "choose another name");
  if (order.name.starts_with(kPresetModels))
    return fail(Errc::conflict, "model " + order.name, "is reserved for the network of a reward preset",
                "choose another name");
  auto kept = order.what == What::add ? networks_.add(order) : networks_.save_as(order.name, kept_figures());
  list_models();
  return kept;
}

Result<std::string> Trainer::load(const std::string& name) {
  WATTLE_CHECK(networks_.load(name, recent_));
  replaced();
  if (learner_.reward().with_prior != networks_.origin().on_prior) learner_.set_reward(networks_.learned_by());
  serve();
  list_models();
  return "step " + std::to_string(network_->steps()) + " from " + name;
}

void Trainer::list_models() {
  networks_.look();
  const std::lock_guard lock(mutex_);
  models_ = networks_.models();
}

void Trainer::draw_curves() {
  next_curves_ = clock_.mono() + Curves::kEvery;
  models::Scalars now{{"train/epsilon", config_.epsilon},
                      {"train/replay", static_cast<double>(learner_.figures().replay)},
                      {"train/reward_centre", learner_.figures().centre}};
  if (const auto error = learner_.figures().td_error) now.emplace_back("train/td_error", *error);
  if (own_.steps_per_s) now.emplace_back("train/steps_per_s", *own_.steps_per_s);
  if (const auto drawn = curves_.flush(network_->steps(), clock_.wall(), std::move(now)); !drawn) {
    if (own_.problem != drawn.error().message())
      log_.error("curves.write_failed", "the learning curves were not written", {{"error", drawn.error()}});
    own_.problem = drawn.error().message();
  }
}

void Trainer::report() {
  const placement::LearnerFigures& learned = learner_.figures();
  own_.steps = network_->steps();
  own_.replay = learned.replay;
  const bool stepped = learned.steps_judged > 0;
  own_.loss = stepped ? std::optional(learned.loss) : std::nullopt;
  own_.mean_q = stepped ? std::optional(learned.mean_q) : std::nullopt;
  own_.td_error = learned.td_error;
  own_.reward_centre = learned.steps > 0 ? std::optional(learned.centre) : std::nullopt;
  const std::lock_guard lock(mutex_);
  figures_ = own_;
  models_ = networks_.models();
}

}  // namespace wattle::controller
