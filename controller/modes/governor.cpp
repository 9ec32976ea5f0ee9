#include "controller/modes/governor.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/parse.hpp"

namespace wattle::controller {
namespace {

constexpr std::size_t kRecent = 50;
constexpr std::uint64_t kLeastDecisions = 100;              // before a canary
constexpr Duration kLongestGap = std::chrono::seconds(10);  // beyond it nothing is known of the time between
constexpr std::size_t kMaxWhy = 500;

std::string described(const Standing& from, const Standing& to) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (from.mode != to.mode) add("mode " + from.mode.text() + " -> " + to.mode.text());
  if (from.policy != to.policy) add("policy " + from.policy + " -> " + to.policy);
  if (!(from.reward == to.reward)) add("reward changed");
  return text.empty() ? "nothing changed" : text;
}

std::string text_of(const std::map<std::string, std::string>& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::string() : found->second.substr(0, kMaxWhy);
}

// What a configuration asks for, without what an experiment adds.
std::string fingerprint(Standing standing) {
  standing.plan.seed = 0;
  standing.plan.began = {};
  return standing_text(standing);
}

}  // namespace

Result<Governor> Governor::open_(Standing configured, const std::string& path, const GuardOptions& guard,
                                 const Clock& clock, const Log& log, const std::string& lost) {
  Governor governor(guard, clock, log);
  if (!path.empty()) {
    WATTLE_TRY(governor.file_, ControlFile::open_(path));
  }
  WATTLE_CHECK(governor.begin(std::move(configured), lost));
  return governor;
}

Status Governor::begin(Standing configured, const std::string& lost) {
  configured_ = fingerprint(configured);
  configured.plan.share = configured.mode.share;
  standing_ = configured;
  std::optional<Change> last;
  if (file_) {
    WATTLE_TRY(last, file_->last());
    WATTLE_TRY(recent_, file_->changes(static_cast<std::int64_t>(kRecent)));
    std::reverse(recent_.begin(), recent_.end());
    if (!recent_.empty()) last_id_ = recent_.back().id;
  }
  if (last && last->configured == configured_) {
    auto kept = parse_standing(last->standing, configured.plan);
    if (kept) {
      standing_ = std::move(*kept);
      experiment_ = last->experiment;
      WATTLE_TRY(blocks_, file_->blocks(experiment_));
      return {};
    }
    log_->error("what was in force is not readable, the configuration is", {{"error", kept.error()}});
  }
  if (!last && !lost.empty()) return begin_without(lost);
  const char* what = last ? "the configuration changed" : "the first start";
  if (standing_.mode.mode != Mode::canary && standing_.mode.mode != Mode::live)
    return change(standing_, "configuration", what, "");
  const std::string why = "the file names mode " + standing_.mode.text() + ": no gate was asked";
  log_->warn("the configuration goes past the gates", {{"mode", standing_.mode.text()}});
  return change(standing_, "configuration", what, why);
}

Status Governor::begin_without(const std::string& lost) {
  const bool shadow = standing_.mode.mode == Mode::canary || standing_.mode.mode == Mode::live;
  log_->error("what was in force was lost: an order to stop may be among it, so that nothing acts",
              {{"why", lost},
               {"configured", standing_.mode.text()},
               {"mode", shadow ? "shadow" : standing_.mode.text()},
               {"mend", "if it may act again: wattle policy set --mode MODE --force --why TEXT"}});
  if (shadow) standing_.mode = Mode::shadow;
  WATTLE_CHECK(change(standing_, "guard", "the control file was lost: nothing acts until an operator says so", lost));
  lost_ = lost;
  return {};
}

void Governor::audit(const std::string& who, const std::string& what, const std::string& why) {
  if (const Status noted = note(who, what, why); !noted) log_->error("audit not written", {{"error", noted.error()}});
}

Status Governor::record(Change& change) {
  change.at_s = to_ns(clock_->wall()) / 1'000'000'000;
  change.configured = configured_;
  if (file_) {
    WATTLE_CHECK(file_->add(change));
  } else {
    change.id = last_id_ + 1;
    if (change.experiment == 0) change.experiment = change.id;
  }
  last_id_ = change.id;
  recent_.push_back(change);
  if (recent_.size() > kRecent) recent_.erase(recent_.begin());
  log_->info("policy", {{"who", change.who}, {"what", change.what}, {"why", change.why}});
  return {};
}

Status Governor::note(const std::string& who, const std::string& what, const std::string& why) {
  Change change;
  change.who = who;
  change.what = what;
  change.why = why;
  change.experiment = experiment_;
  return record(change);
}

// Whatever changes, another experiment begins: blocks of before say nothing about it.
Status Governor::change(Standing to, const std::string& who, const std::string& what, const std::string& why) {
  const std::int64_t now_ns = to_ns(clock_->wall());
  to.plan.began = clock_->wall();
  to.plan.seed = static_cast<std::uint64_t>(now_ns) * 0x9e3779b97f4a7c15ULL ^ to.plan.seed;
  Change change;
  change.who = who;
  change.what = what;
  change.why = why;
  change.standing = standing_text(to);
  WATTLE_CHECK(record(change));
  guard_.begin_anew(!(standing_.reward == to.reward));
  standing_ = std::move(to);
  experiment_ = change.experiment;
  blocks_.clear();
  meter_ = {};
  nonsense_told_ = false;
  figures_.decisions = 0;
  lost_.clear();
  ++figures_.changes;
  if (apply_) apply_(standing_);
  return {};
}

Result<std::string> Governor::handle(const std::string& what, const std::map<std::string, std::string>& arguments,
                                     const std::string& who) {
  const std::string why = text_of(arguments, "why");
  if (what == "policy-set") {
    WATTLE_CHECK(set(arguments, who, why));
  } else if (what == "policy-promote") {
    WATTLE_CHECK(promote(text_of(arguments, "force") == "yes", who, why));
  } else if (what == "policy-rollback") {
    WATTLE_CHECK(rollback(arguments, who, why));
  } else {
    return fail(Errc::not_found, what, "is no change of the policy", "policy-set, policy-promote or policy-rollback");
  }
  return document().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status Governor::set(const std::map<std::string, std::string>& arguments, const std::string& who,
                     const std::string& why) {
  for (const auto& [name, value] : arguments) {
    const bool known = name == "why" || name == "mode" || name == "policy" || name == "reward" || name == "load" ||
                       name == "expression" || name == "force" || name == "reference_w" || name == "horizon_s" ||
                       name.starts_with("weight.");
    if (!known) return fail(Errc::malformed, "argument " + name, "is not known");
  }
  WATTLE_TRY(Standing to, with_changes(standing_, arguments));
  const std::string what = described(standing_, to);
  if (what == "nothing changed") return {};
  const bool further = to.mode.mode > standing_.mode.mode && to.mode.mode > Mode::shadow;
  const std::string closed = closed_to(to);
  WATTLE_CHECK(enter(std::move(to), closed, text_of(arguments, "force") == "yes", who, what, why));
  if (network_ && further) network_(true);
  return {};
}

std::string Governor::closed_to(const Standing& to) const {
  if (to.mode.mode <= standing_.mode.mode || to.mode.mode == Mode::shadow) return {};
  const Gate next = gate();
  if (to.mode.mode != next.next->mode)
    return next.next->text() + " comes first" + (next.closed.empty() ? "" : ", and waits for: " + next.closed);
  if (!next.closed.empty()) return next.closed;
  const bool same_ranking = to.policy == standing_.policy && to.reward == standing_.reward;
  return same_ranking
             ? ""
             : "the evidence is of policy and reward as they were: change them first, in mode " + standing_.mode.text();
}

// Through the gate, or past it.
Status Governor::enter(Standing to, const std::string& closed, bool force, const std::string& who,
                       const std::string& what, const std::string& why) {
  const std::string mode = to.mode.text();
  if (closed.empty()) return change(std::move(to), who, what, why);
  if (force && why.empty()) return fail(Errc::malformed, "mode " + mode, "is forced without a reason", "--why TEXT");
  if (force) return change(std::move(to), who, what + ", forced past: " + closed, why);
  WATTLE_CHECK(note(who, "promotion to " + mode + " refused", closed));
  return fail(Errc::denied, "mode " + mode, "its gate is closed: " + closed,
              "wait, `wattle policy get` shows the gate; or go past it with --force --why TEXT");
}

Governor::Gate Governor::gate() const {
  switch (standing_.mode.mode) {
    case Mode::off:
      return {ModeSetting{Mode::shadow}, {}};
    case Mode::shadow: {
      Gate gate{ModeSetting{Mode::canary}, {}};
      if (figures_.decisions < kLeastDecisions)
        gate.closed = std::to_string(figures_.decisions) + " of " + std::to_string(kLeastDecisions) +
                      " decisions that a canary asks for";
      if (nonsense_told_) gate.closed = "the network has said what no network may say";
      if (gate.closed.empty() && harm_) gate.closed = harm_();
      return gate;
    }
    case Mode::canary: {
      Gate gate{ModeSetting{Mode::live}, {}};
      const Saving now = saving();
      if (!now.low) {
        gate.closed = "measured blocks: " + std::to_string(now.treated) + " treated and " +
                      std::to_string(now.control) + " control, " + std::to_string(kLeastBlocks) +
                      " of each are asked for";
      } else if (*now.low < 0) {
        gate.closed = "the saving is not sure: its 95% interval reaches below zero";
      }
      if (gate.closed.empty() && harm_) gate.closed = harm_();
      return gate;
    }
    case Mode::live:
      break;
  }
  return {};
}

Status Governor::promote(bool force, const std::string& who, const std::string& why) {
  const Gate now = gate();
  if (!now.next) return fail(Errc::conflict, "promotion", "the mode is live already");
  Standing to = standing_;
  to.mode = *now.next;
  to.plan.share = to.mode.share;
  const std::string what = "promoted: " + described(standing_, to);
  WATTLE_CHECK(enter(std::move(to), now.closed, force, who, what, why));
  if (network_ && standing_.mode.mode != Mode::shadow) network_(true);
  return {};
}

Status Governor::rollback(const std::map<std::string, std::string>& arguments, const std::string& who,
                          const std::string& why) {
  const std::string to_text = text_of(arguments, "to");
  std::optional<std::int64_t> wanted;
  if (!to_text.empty()) {
    const auto id = parse::u64(to_text);
    if (!id || *id > INT64_MAX) return fail(Errc::malformed, "argument to", "'" + to_text + "' is no change's number");
    wanted = static_cast<std::int64_t>(*id);
  }
  // The newest standing but one, or the one that is named.
  std::optional<Change> found;
  bool present = true;
  for (auto change = recent_.rbegin(); change != recent_.rend() && !found; ++change) {
    if (change->standing.empty()) continue;
    if (wanted ? change->id == *wanted : !present) found = *change;
    present = false;
  }
  if (!found && wanted && file_) {
    WATTLE_TRY(found, file_->before(*wanted + 1));
    if (found && found->id != *wanted) found.reset();
  }
  if (!found)
    return fail(Errc::not_found, wanted ? "change " + to_text : "change before this one", "holds nothing to go back to",
                "`wattle policy get` lists changes");
  WATTLE_TRY(Standing to, parse_standing(found->standing, standing_.plan));
  const std::string what = "rolled back to change " + std::to_string(found->id) + ": " + described(standing_, to);
  // What was in force before may be further on, as when the guard has rolled back.
  const std::string closed = closed_to(to);
  WATTLE_CHECK(enter(std::move(to), closed, text_of(arguments, "force") == "yes", who, what, why));
  if (network_) network_(false);
  return {};
}

void Governor::harm(const std::string& what) {
  ++figures_.rollbacks;
  Standing to = standing_;
  to.mode = ModeSetting{Mode::shadow};
  const std::string text = "rolled back: " + described(standing_, to);
  const Status done = change(to, "guard", text, what);
  if (network_) network_(false);
  if (done) {
    log_->error("rolled back", {{"why", what}});
    return;
  }
  // Not remembered, but in force.
  log_->error("rolled back, but the control file does not take it", {{"why", what}, {"error", done.error()}});
  standing_ = to;
  if (apply_) apply_(standing_);
}

bool Governor::decided(const ArmNow& arm, double max_abs_residual) {
  ++figures_.decisions;
  if (arm.measured) meter_.count_decision();
  if (!guard_.nonsense(max_abs_residual)) return true;
  const std::string what = std::isfinite(max_abs_residual)
                               ? "the network says " + std::to_string(max_abs_residual) + ", beyond any sense"
                               : "the network says what is no number";
  if (acts(arm.arm)) {
    harm(what);
    nonsense_told_ = true;
  } else if (!nonsense_told_) {
    nonsense_told_ = true;
    audit("guard", "nothing to roll back in mode " + standing_.mode.text(), what);
  }
  return false;
}

void Governor::judged(const ArmNow& arm, double reward) {
  if (!arm.measured) return;
  if (!acts(arm.arm)) {
    guard_.control(reward);
  } else if (guard_.acting(reward)) {
    harm("rewards while acting are worse than those of control placements");
  }
}

void Governor::watch(const ClusterNow& now) {
  const MonoTime at = clock_->mono();
  const Duration passed = watched_ ? at - *watched_ : Duration{0};
  watched_ = at;
  if (standing_.mode.mode != Mode::canary) return;
  const auto over = meter_.add(block_at(standing_.plan, clock_->wall()), now, std::min(passed, kLongestGap));
  if (!over) return;
  blocks_.push_back(*over);
  if (!file_) return;
  if (const Status kept = file_->add(experiment_, *over); !kept)
    log_->error("a block's figures are not kept over a restart", {{"error", kept.error()}});
}

Saving Governor::saving() const { return measured_saving(blocks_, measured_s()); }

}  // namespace wattle::controller
