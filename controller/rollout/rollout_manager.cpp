#include "controller/rollout/rollout_manager.hpp"

#include <algorithm>

namespace wattle::controller {
namespace {

// Text of the configuration's spec, without the fields of an experiment.
std::string fingerprint(RolloutSpec spec) {
  spec.schedule.seed = 0;
  spec.schedule.began = {};
  return spec_text(spec);
}

bool may_act(Mode mode) { return mode == Mode::canary || mode == Mode::live; }

// True if fewer decisions act, or none is made.
bool goes_back(const ModeSetting& from, const ModeSetting& to) {
  if (to.mode != from.mode) return to.mode < from.mode;
  return to.mode == Mode::canary && to.share < from.share;
}

}  // namespace

Result<RolloutManager> RolloutManager::open_(RolloutSpec configured, const std::string& path,
                                             const MonitorOptions& monitors, const Clock& clock, const Log& log,
                                             const std::string& lost) {
  WATTLE_TRY(ChangeLog changes, ChangeLog::open_(path, clock, log));
  RolloutManager manager(std::move(changes), monitors, clock, log);
  WATTLE_CHECK(manager.begin(std::move(configured), lost));
  WATTLE_CHECK(manager.recall_canaries());
  manager.events_.clear();
  return manager;
}

Status RolloutManager::begin(RolloutSpec configured, const std::string& lost) {
  configured_ = fingerprint(configured);
  configured.schedule.share = configured.mode.share;
  spec_ = configured;
  WATTLE_TRY(const std::optional<Change> last, changes_.last());
  if (last && last->configured == configured_) {
    auto spec = parse_spec(last->standing, configured.schedule);
    if (spec) return go_on(*last, std::move(*spec));
    log_->error("policy.unreadable", "the saved settings cannot be read; the configuration is in force",
                {{"error", spec.error()}});
  }
  if (!last && !lost.empty()) return begin_without(lost);
  std::string what = last ? "the configuration changed" : "the first start";
  if (last)
    if (const auto before = parse_spec(last->standing, configured.schedule)) what += ": " + described(*before, spec_);
  if (!may_act(spec_.mode.mode)) return change(spec_, "configuration", what, "");
  const std::string why = "the configuration sets mode " + spec_.mode.text() + ": gates were skipped";
  log_->warn("policy.gates_skipped", "the configured mode skips the gates", {{"mode", spec_.mode.text()}});
  return change(spec_, "configuration", what, why);
}

// Restores the measurements of earlier canaries, except those of the current experiment.
Status RolloutManager::recall_canaries() {
  if (changes_.file() == nullptr) return {};
  WATTLE_TRY(auto canaries, changes_.file()->canaries(kMostPastBlocks));
  for (CanaryOf& each : canaries) {
    if (each.experiment == experiment_id_) continue;
    const auto spec = parse_spec(each.standing, spec_.schedule);
    if (spec) keep_canary(past_, {ranking_of(*spec), std::move(each.blocks)});
  }
  return {};
}

std::optional<Calibration> RolloutManager::calibration() const {
  const std::string ranking = ranking_of(spec_);
  std::vector<std::vector<BlockResult>> canaries;
  for (const PastCanary& each : past_)
    if (each.ranking == ranking) canaries.push_back(each.blocks);
  canaries.push_back(experiment_.blocks());
  return calibrate(canaries, seconds(spec_.schedule.length - spec_.schedule.washout));
}

Status RolloutManager::go_on(const Change& last, RolloutSpec spec) {
  spec_ = std::move(spec);
  experiment_id_ = last.experiment;
  WATTLE_TRY(auto blocks, changes_.file()->blocks(experiment_id_));
  experiment_.restore(std::move(blocks));
  WATTLE_TRY(kept_, changes_.file()->monitors(experiment_id_));
  const auto again = [this](const char* what) {
    log_->warn("regression.restarted", "the regression monitor starts from scratch", {{"why", what}});
  };
  for (const MonitorState& row : std::vector(kept_))
    if (const auto restored = experiment_.restore(row, again); !restored) unreadable(restored.error());
  return {};
}

Status RolloutManager::begin_without(const std::string& lost) {
  const bool shadow = may_act(spec_.mode.mode);
  log_->error("policy.lost",
              "the saved settings were lost, possibly including a rollback, so the controller does not act",
              {{"why", lost},
               {"configured", spec_.mode.text()},
               {"mode", shadow ? "shadow" : spec_.mode.text()},
               {"fix", "to let the controller act again: wattle policy set --mode MODE --force --why TEXT"}});
  if (shadow) spec_.mode = Mode::shadow;
  WATTLE_CHECK(
      change(spec_, "guard", "the control file was lost: Wattle does not act until an operator allows it", lost));
  lost_ = lost;
  return {};
}

void RolloutManager::unreadable(const Error& error) {
  const std::string why = error.message();
  log_->error("monitor.lost", "the state of a monitor was lost, so the controller does not act",
              {{"error", error}, {"mode", spec_.mode.text()}});
  if (may_act(spec_.mode.mode)) go_to_shadow(why);
  lost_ = why;
}

const std::string* RolloutManager::kept(std::string_view name) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each.name == name; });
  return found != kept_.end() ? &found->text : nullptr;
}

bool RolloutManager::keep(std::vector<MonitorState> others) {
  if (changes_.file() == nullptr) return false;
  for (MonitorState& row : experiment_.rows()) others.push_back(std::move(row));
  if (others == kept_ && experiment_id_ == kept_of_) return true;
  if (const Status done = changes_.file()->keep(experiment_id_, changes_.now_s(), others); !done) {
    log_->error("monitor.unsaved", "the state of gates and monitors was not saved and would be lost at a restart",
                {{"error", done.error()}});
    return false;
  }
  kept_ = std::move(others);
  kept_of_ = experiment_id_;
  return true;
}

Result<std::optional<sqlite::Copy>> RolloutManager::copy_to(const std::string& path) {
  if (changes_.file() == nullptr) return std::optional<sqlite::Copy>();
  WATTLE_TRY(auto copy, changes_.file()->copy_to(path));
  return std::optional<sqlite::Copy>(std::move(copy));
}

void RolloutManager::audit(const std::string& who, const std::string& what, const std::string& why) {
  if (const Status noted = note(who, what, why); !noted)
    log_->error("audit.write_failed", "the audit entry was not written", {{"error", noted.error()}});
}

Status RolloutManager::note(const std::string& who, const std::string& what, const std::string& why) {
  Change change;
  change.who = who;
  change.what = what;
  change.why = why;
  change.experiment = experiment_id_;
  change.configured = configured_;
  return changes_.record(change);
}

// Every change begins another experiment. Earlier blocks do not count for it; they only calibrate the model.
Status RolloutManager::change(RolloutSpec to, const std::string& who, const std::string& what, const std::string& why,
                              bool anyway) {
  const std::int64_t now_ns = to_ns(clock_->wall());
  to.schedule.began = clock_->wall();
  to.schedule.seed = static_cast<std::uint64_t>(now_ns) * 0x9e3779b97f4a7c15ULL ^ to.schedule.seed;
  Change change;
  change.who = who;
  change.what = what;
  change.why = why;
  change.standing = spec_text(to);
  change.configured = configured_;
  if (anyway || goes_back(spec_.mode, to.mode))
    changes_.record_anyway(change);
  else
    WATTLE_CHECK(changes_.record(change));
  keep_canary(past_, {ranking_of(spec_), experiment_.blocks()});
  experiment_.restart(!(spec_.reward == to.reward));
  spec_ = std::move(to);
  experiment_id_ = change.experiment;
  lost_.clear();
  ++figures_.changes;
  events_.push_back(RolloutEvent::spec_changed);
  return {};
}

Gate RolloutManager::gate() const { return gate_from(spec_.mode.mode, experiment_.evidence(spec_.schedule)); }

void RolloutManager::go_to_shadow(const std::string& why) {
  RolloutSpec to = spec_;
  to.mode = ModeSetting{Mode::shadow};
  const std::string what = "rolled back: " + described(spec_, to);
  if (const Status done = change(std::move(to), "guard", what, why, true); !done)
    log_->error("policy.rollback_failed", "a rollback failed", {{"why", why}, {"error", done.error()}});
}

void RolloutManager::withdraw(const std::string& evidence, bool acting) {
  if (!acting) return audit("guard", "no rollback needed in mode " + spec_.mode.text(), evidence);
  ++figures_.rollbacks;
  go_to_shadow(evidence);
  log_->error("policy.rolled_back", "the controller rolled back the settings", {{"why", evidence}});
  events_.push_back(RolloutEvent::network_withdrawn);
}

bool RolloutManager::decided(const ArmNow& arm, double max_abs_residual) {
  const auto nonsense = experiment_.decided(arm, max_abs_residual);
  if (!nonsense) return true;
  // Reported once if the arm does not act.
  if (acts(arm.arm) || !experiment_.nonsense()) withdraw(*nonsense, acts(arm.arm));
  experiment_.nonsense_found();
  return false;
}

void RolloutManager::judged(const ArmNow& arm, double reward) {
  if (const auto found = experiment_.judged(arm, reward)) withdraw(*found, true);
}

void RolloutManager::watch(const ClusterNow& now, const BudgetsNow& budgets) {
  static_cast<void>(changes_.write_late());  // the document lists unwritten changes
  if (const auto found = experiment_.measured(arm(), budgets, clock_->mono())) withdraw(*found, true);
  const auto over = experiment_.watch(spec_, now, clock_->mono(), clock_->wall());
  if (!over || changes_.file() == nullptr) return;
  if (const Status kept = changes_.file()->add(experiment_id_, *over); !kept)
    log_->error("canary.block_unsaved", "the results of a canary block were not saved and would be lost at a restart",
                {{"error", kept.error()}});
}

}  // namespace wattle::controller
