// rollout_manager: holds the spec in force (mode, policy, reward), changes it on operators' orders, and performs the
// actions that follow from monitors' findings. No other class changes mode, policy or reward.
// Restart  a change at run time stays in force until the configuration file changes; gates and monitors continue from
//          the state of keep(). After an unreadable row, an acting mode becomes shadow until an operator changes it
// Monitors a finding sets mode shadow
// Rollback returns to the previous spec, or to that of a named change. Both also restore the network of the last
//          promotion
// Gates    gates.hpp. Every promotion moves one mode at a time and through its gate; `force` with a
//          reason skips the gate. The configuration file's spec needs no gate, and the audit log says so
// Audit    the control file has every change and every refused promotion, with time, author, text and reason
// Full     an order that goes back (to a lower mode, a smaller share of the canary, or by rollback) applies at once
//          even if the control file cannot be written. It is written later, and the document lists unwritten changes
// Errors   handle: malformed, out_of_range, not_found, denied (a gate), io (an order that goes further); the spec is
//          then unchanged
// Threads  single owner
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/log.hpp"
#include "controller/rollout/calibration.hpp"
#include "controller/rollout/change_log.hpp"
#include "controller/rollout/experiment.hpp"

namespace wattle::controller {

struct RolloutFigures {
  std::uint64_t changes = 0, rollbacks = 0;  // since the start; rollbacks by monitors only
};

// Events to act upon, in their order: the spec in force changed; the serving network was promoted and must be kept; a
// rollback withdrew it and the previous one must be restored.
enum class RolloutEvent { spec_changed, network_promoted, network_withdrawn };

class RolloutManager {
 public:
  // `path` empty: the state is lost at exit. The spec of the file is in force unless the configuration has changed.
  // `lost`: why the content of an empty file was lost. In that case an earlier order of off or shadow may be missing,
  // so decisions do not act until an operator orders it.
  static Result<RolloutManager> open_(RolloutSpec configured, const std::string& path, const MonitorOptions& monitors,
                                      const Clock& clock, const Log& log, const std::string& lost = {});

  const RolloutSpec& spec() const { return spec_; }
  // Takes the events since the last call, or since open_().
  std::vector<RolloutEvent> take_events() { return std::exchange(events_, {}); }

  // Handles "policy-set", "policy-promote" and "policy-rollback"; returns the document after the change.
  Result<std::string> handle(const std::string& what, const std::map<std::string, std::string>& arguments,
                             const std::string& who);
  SortedJson document() const;
  // Copies the control file; no value if there is none, so that changes are lost at exit.
  Result<std::optional<sqlite::Copy>> copy_to(const std::string& path);
  // Records an action that does not change the spec. A failed write is logged.
  void audit(const std::string& who, const std::string& what, const std::string& why);

  // Handles a monitor's finding. `acting`: the cause has acted; otherwise no rollback is needed, which is recorded.
  void withdraw(const std::string& evidence, bool acting);

  // Call about once a second.
  void watch(const ClusterNow& now, const BudgetsNow& budgets = {});
  // Call for each decision with its largest residual, infinite if one was not finite. Returns false if the decision
  // must not act.
  bool decided(const ArmNow& arm, double max_abs_residual);
  // Call for each outcome.
  void judged(const ArmNow& arm, double reward);

  // Returns the stored row of another monitor; null if there is none for the current experiment.
  const std::string* kept(std::string_view name) const;
  // Handles an unreadable row: decisions do not act until an operator orders it.
  void unreadable(const Error& error);
  // Writes the state of all monitors and `others` to the control file. Returns false if that fails, which is logged, or
  // if there is no file.
  bool keep(std::vector<MonitorState> others);

  ArmNow arm() const { return arm_at(spec_, clock_->wall()); }
  EffectEstimate effect() const { return experiment_.effect(spec_.schedule); }
  // Compares the modelled saving of shadow mode with canaries of this policy and reward; no value if none has measured
  // enough.
  std::optional<Calibration> calibration() const;
  const RegressionMonitor& regression() const { return experiment_.regression(); }
  const RolloutFigures& figures() const { return figures_; }
  std::size_t unwritten() const { return changes_.unwritten(); }  // changes not written to the control file yet
  // Why the content of the control file was lost, until an operator's next order; empty if it was not.
  const std::string& lost() const { return lost_; }

 private:
  RolloutManager(ChangeLog changes, const MonitorOptions& monitors, const Clock& clock, const Log& log)
      : changes_(std::move(changes)), experiment_(monitors), clock_(&clock), log_(&log) {}
  Status begin(RolloutSpec configured, const std::string& lost);
  Status recall_canaries();
  // Continues with the previous spec, its gates and monitors.
  Status go_on(const Change& last, RolloutSpec spec);
  // Starts without the previous spec, which was lost for that reason.
  Status begin_without(const std::string& lost);
  // `anyway`: applies even if the control file cannot be written.
  Status change(RolloutSpec to, const std::string& who, const std::string& what, const std::string& why,
                bool anyway = false);
  Status note(const std::string& who, const std::string& what, const std::string& why);
  Status set(const std::map<std::string, std::string>& arguments, const std::string& who, const std::string& why);
  Status promote(bool force, const std::string& who, const std::string& why);
  Status enter(RolloutSpec to, const std::string& closed, bool force, const std::string& who, const std::string& what,
               const std::string& why, bool anyway = false);
  Status rollback(const std::map<std::string, std::string>& arguments, const std::string& who, const std::string& why);
  void go_to_shadow(const std::string& why);
  Gate gate() const;
  // Returns why `to` may not be entered from here; empty if it may.
  std::string closed_to(const RolloutSpec& to) const;

  ChangeLog changes_;
  Experiment experiment_;
  const Clock* clock_;
  const Log* log_;
  std::string configured_, lost_;
  RolloutSpec spec_;
  std::int64_t experiment_id_ = 0;
  std::vector<PastCanary> past_;  // earlier canaries, of all rankings
  std::vector<MonitorState> kept_;
  std::int64_t kept_of_ = 0;  // the experiment of those rows
  RolloutFigures figures_;
  std::vector<RolloutEvent> events_;
};

}  // namespace wattle::controller
