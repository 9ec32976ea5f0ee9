// rollout_manager: keeps what is in force (mode, policy, reward), changes it when an operator asks, and does what follows from what
// a monitor found. Nothing else changes mode, policy or reward.
// Restart  what was changed while running holds until the configuration file says something new; what gates and monitors have seen
//          goes on where keep() left it. A row that cannot be read makes mode shadow of one that acts, until an operator says so
// Events   monitor_event.hpp says which action follows. Rollback by hand: to what was in force before, or to the change that is
//          named. Either way the network of the last promotion serves again
// Gates    gates.hpp. Whoever goes further, by whichever order, goes one mode at a time and through its gate; `force` with a reason
//          goes past it. What the configuration file names is in force without a gate, which the audit says
// Audit    every change and every refused promotion with who, when, what and why, in the control file
// Full     an order that goes back (to a lower mode, to a smaller share of the canary, or by rollback) holds at once though the control file
//          does not take it; it is written when the file does, and the document says what is not written yet
// Errors   handle: malformed, out_of_range, not_found, denied (a gate), io (of an order that goes further); then nothing has changed
// Threads  single owner
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/log.hpp"
#include "controller/rollout/calibration.hpp"
#include "controller/rollout/change_log.hpp"
#include "controller/rollout/experiment.hpp"

namespace wattle::controller {

struct RolloutFigures {
  std::uint64_t changes = 0, rollbacks = 0;  // since the start; the second those of monitors
};

class RolloutManager {
 public:
  // `path` empty: nothing outlives the process. What the file last held is in force unless the configuration is a new one. `lost`:
  // why a file that holds nothing held something once; then somebody may have ordered off or shadow, and nothing acts until an
  // operator says so.
  static Result<RolloutManager> open_(RolloutSpec configured, const std::string& path, const MonitorOptions& monitors,
                                      const Clock& clock, const Log& log, const std::string& lost = {});

  const RolloutSpec& spec() const { return spec_; }
  // Called at each change; set before anything else is.
  void on_change(std::function<void(const RolloutSpec&)> apply) { apply_ = std::move(apply); }

  // After a promotion (true), and after a rollback by anybody (false): the network that served is kept, or brought back.
  void on_network(std::function<void(bool promoted)> follow) { network_ = std::move(follow); }
  // Why promotion to a mode that acts would harm, by who compares the rankings; empty: it would not. Asked at each promotion.
  void on_gate(std::function<std::string()> harm) { harm_ = std::move(harm); }

  // "policy-set", "policy-promote", "policy-rollback"; gives the document afterwards.
  Result<std::string> handle(const std::string& what, const std::map<std::string, std::string>& arguments,
                             const std::string& who);
  SortedJson document() const;
  // Something that was done beside what is in force. A control file that does not take it is logged.
  // The control file's; nothing: changes end with the process.
  Result<std::optional<sqlite::Copy>> copy_to(const std::string& path);
  void audit(const std::string& who, const std::string& what, const std::string& why);

  // What a monitor found. `acting`: what it found has acted; else there is nothing to roll back, which is noted.
  void take(const MonitorEvent& event, bool acting = false);

  // About once a second.
  void watch(const ClusterNow& now, const BudgetsNow& budgets = {});
  // Each decision: the largest residual it saw, infinite if one was not finite. False: it must not act.
  bool decided(const ArmNow& arm, double max_abs_residual);
  // Each outcome.
  void judged(const ArmNow& arm, double reward);

  // What another monitor kept; null: nothing that is about the present experiment.
  const std::string* kept(std::string_view name) const;
  // It cannot be read: nothing acts until an operator says so.
  void unreadable(const Error& error);
  // All of it into the control file, `others` with it. False: the file does not take it, which is logged, or there is none.
  bool keep(std::vector<MonitorState> others);

  ArmNow arm() const { return arm_at(spec_, clock_->wall()); }
  EffectEstimate effect() const { return experiment_.effect(spec_.schedule); }
  // Of what mode shadow models, by canaries of this policy and reward; absent: none has measured enough.
  std::optional<Calibration> calibration() const;
  const RegressionMonitor& regression() const { return experiment_.regression(); }
  const RolloutFigures& figures() const { return figures_; }
  std::size_t unwritten() const { return changes_.unwritten(); }  // changes that wait for the control file
  // What came from the file was lost, and no operator has said anything since; empty: it was not.
  const std::string& lost() const { return lost_; }

 private:
  RolloutManager(ChangeLog changes, const MonitorOptions& monitors, const Clock& clock, const Log& log)
      : changes_(std::move(changes)), experiment_(monitors), clock_(&clock), log_(&log) {}
  Status begin(RolloutSpec configured, const std::string& lost);
  Status recall_canaries();
  // What was in force, gates and monitors with it, goes on.
  Status go_on(const Change& last, RolloutSpec spec);
  // What was in force was lost for that reason.
  Status begin_without(const std::string& lost);
  // `anyway`: it holds though the control file does not take it.
  Status change(RolloutSpec to, const std::string& who, const std::string& what, const std::string& why,
                bool anyway = false);
  Status note(const std::string& who, const std::string& what, const std::string& why);
  Status set(const std::map<std::string, std::string>& arguments, const std::string& who, const std::string& why);
  Status promote(bool force, const std::string& who, const std::string& why);
  Status enter(RolloutSpec to, const std::string& closed, bool force, const std::string& who, const std::string& what,
               const std::string& why, bool anyway = false);
  Status rollback(const std::map<std::string, std::string>& arguments, const std::string& who, const std::string& why);
  void perform(Action action, const std::string& evidence);
  void go_to_shadow(const std::string& why);
  Gate gate() const;
  // Why `to` may not be entered from here; empty: it may.
  std::string closed_to(const RolloutSpec& to) const;

  ChangeLog changes_;
  Experiment experiment_;
  const Clock* clock_;
  const Log* log_;
  std::string configured_, lost_;
  RolloutSpec spec_;
  std::int64_t experiment_id_ = 0;
  std::vector<PastCanary> past_;  // canaries of before, of all rankings
  std::vector<MonitorState> kept_;
  std::int64_t kept_of_ = 0;  // the experiment that those rows are about
  RolloutFigures figures_;
  std::function<void(const RolloutSpec&)> apply_;
  std::function<void(bool promoted)> network_;
  std::function<std::string()> harm_;
};

}  // namespace wattle::controller
