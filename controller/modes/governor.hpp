// governor: keeps what is in force (mode, policy, reward), changes it when an operator asks, and takes it back when it harms.
// Restart  what was changed while running holds until the configuration file says something new
// Rollback an alarm of the guard while something acts, or a network that says nonsense, sets mode shadow at once: the same
//          ask is answered neutral. By hand: to what was in force before, or to the change that is named. Either way the
//          network of the last promotion serves again
// Gates    off -> shadow -> canary -> live: whoever goes further, by whichever order, goes one mode at a time and through its gate;
//          `force` with a reason goes past it. To a mode that acts, a ranking that recent decisions say is worse than the planner or
//          the amortised rank is refused. What the configuration file names is in force without a gate, which the audit says
// Audit    every change and every refused promotion with who, when, what and why, in the control file
// Errors   handle: malformed, out_of_range, not_found, denied (a gate), io; then nothing has changed
// Threads  single owner
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "controller/modes/guard.hpp"
#include "controller/modes/saving.hpp"
#include "controller/modes/standing.hpp"
#include "controller/store/control_file.hpp"

namespace wattle::controller {

struct GovernorFigures {
  std::uint64_t changes = 0, rollbacks = 0;  // since the start; the second those of the guard
  std::uint64_t decisions = 0;               // of the present experiment
};

class Governor {
 public:
  // `path` empty: nothing outlives the process. What the file last held is in force unless the configuration is a new one. `lost`:
  // why a file that holds nothing held something once; then somebody may have ordered off or shadow, and nothing acts until an
  // operator says so.
  static Result<Governor> open_(Standing configured, const std::string& path, const GuardOptions& guard,
                                const Clock& clock, const Log& log, const std::string& lost = {});

  const Standing& standing() const { return standing_; }
  // Called at each change; set before anything else is.
  void on_change(std::function<void(const Standing&)> apply) { apply_ = std::move(apply); }

  // After a promotion (true), and after a rollback by anybody (false): the network that served is kept, or brought back.
  void on_network(std::function<void(bool promoted)> follow) { network_ = std::move(follow); }
  // Why promotion to a mode that acts would harm, by who compares the rankings; empty: it would not. Asked at each promotion.
  void on_gate(std::function<std::string()> harm) { harm_ = std::move(harm); }

  // "policy-set", "policy-promote", "policy-rollback"; gives the document afterwards.
  Result<std::string> handle(const std::string& what, const std::map<std::string, std::string>& arguments,
                             const std::string& who);
  nlohmann::json document() const;
  // Something that was done beside the standing. A control file that does not take it is logged.
  void audit(const std::string& who, const std::string& what, const std::string& why);

  // About once a second.
  void watch(const ClusterNow& now);
  // Each decision: the largest residual it saw, infinite if one was not finite. False: it must not act.
  bool decided(const ArmNow& arm, double max_abs_residual);
  // Each outcome.
  void judged(const ArmNow& arm, double reward);

  ArmNow arm() const { return arm_at(standing_, clock_->wall()); }
  Saving saving() const;
  const Guard& guard() const { return guard_; }
  const GovernorFigures& figures() const { return figures_; }
  // What came from the file was lost, and no operator has said anything since; empty: it was not.
  const std::string& lost() const { return lost_; }

 private:
  struct Gate {
    std::optional<ModeSetting> next;  // absent: there is nothing beyond
    std::string closed;               // why; empty: open
  };
  Governor(const GuardOptions& guard, const Clock& clock, const Log& log) : guard_(guard), clock_(&clock), log_(&log) {}
  Status begin(Standing configured, const std::string& lost);
  // The control file was lost for that reason.
  Status begin_without(const std::string& lost);
  Status change(Standing to, const std::string& who, const std::string& what, const std::string& why);
  Status note(const std::string& who, const std::string& what, const std::string& why);
  Status record(Change& change);
  Status set(const std::map<std::string, std::string>& arguments, const std::string& who, const std::string& why);
  Status promote(bool force, const std::string& who, const std::string& why);
  Status enter(Standing to, const std::string& closed, bool force, const std::string& who, const std::string& what,
               const std::string& why);
  Status rollback(const std::map<std::string, std::string>& arguments, const std::string& who, const std::string& why);
  void harm(const std::string& what);
  Gate gate() const;
  // Why `to` may not be entered from here; empty: it may.
  std::string closed_to(const Standing& to) const;
  double measured_s() const { return seconds(standing_.plan.length - standing_.plan.dropped); }

  Guard guard_;
  const Clock* clock_;
  const Log* log_;
  std::optional<ControlFile> file_;
  std::string configured_, lost_;
  Standing standing_;
  std::int64_t experiment_ = 0, last_id_ = 0;
  std::vector<Change> recent_;  // oldest first
  std::vector<BlockResult> blocks_;
  BlockMeter meter_;
  std::optional<MonoTime> watched_;
  bool nonsense_told_ = false;
  GovernorFigures figures_;
  std::function<void(const Standing&)> apply_;
  std::function<void(bool promoted)> network_;
  std::function<std::string()> harm_;
};

}  // namespace wattle::controller
