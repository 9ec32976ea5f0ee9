// margin_teacher: chooses the margin of each service with the provisioning network, and applies the choice in the modes
// that permit it.
// Source   minutes of services, VMs and pods at level `limits`, as their nodes report them (LimitMinute); Traffic for
//          requests that the node does not measure; ReplicaPlace for pods. A service without known latency is left to
//          the node's rule
// Gives    per service the action with the highest Q (provision/minute), the rule's action, and the excess cost of the
//          rule by that Q. In modes canary and live, in the teacher's blocks, a step for the node: one rung of the
//          margin for CPU or memory. Memory only if the node limits it now. Another number of replicas is a suggestion,
//          which nothing applies: the node gets the best of the other actions
// Learns   from the action taken and its cost: margin_learner
// Student  each minute of a service with known latency is a lesson. Its label is the rule's choice until the gate is
//          open, and the network's choice after that. student_release.hpp decides which minutes are the student's,
//          and whether nodes get it
// Bounds   kMostSteeredServices; a service without a report for ten minutes is forgotten
// Units    cores, shares, seconds of the wall clock; costs as in provision/minute/service_cost.hpp
// Errors   none
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/clock.hpp"
#include "common/stats/draws.hpp"
#include "common/wire/messages.hpp"
#include "controller/provision/margin_learner.hpp"
#include "controller/provision/margin_trial.hpp"
#include "controller/provision/replica_place.hpp"
#include "controller/provision/traffic.hpp"
#include "provision/minute/drpc_reward.hpp"
#include "provision/minute/service_cost.hpp"
#include "provision/requests/rate_forecast.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostSteeredServices = 4096;

enum class ReportedBy : std::uint8_t { none, node, prometheus };
std::string_view to_string(ReportedBy whom);

// State of a service after its last complete minute.
struct SteeredService {
  LimitMinute minute;
  double cost = 0, waste = 0;               // of that minute; waste: cost beyond the need
  double wanted_margin = 0;                 // margin that the teacher chooses
  std::optional<double> wanted_memory;      // the same for memory; no value if it is not limited now
  std::size_t action = 0, rule_action = 0;  // provision/minute/choice.hpp
  std::size_t applied = 0;                  // the node's best action: `action`, unless that changes replicas
  ReplicaPlace replicas;
  double gain = 0;     // Q of the teacher's action minus that of the rule's, at least 0
  bool known = false;  // latency is known; otherwise the rule serves and nothing is learned
  ReportedBy rate_by = ReportedBy::none, latency_by = ReportedBy::none;
  std::optional<double> rate_rps;
  std::optional<placement::ExpectedRate> expected;  // for the current minute
  placement::ForecastScore forecast;
  bool teacher_next = false;  // the current minute belongs to the teacher
  bool student_next = false;  // or to the student, which is compared with its teacher
  bool explored = false;
  bool guarded = false;  // the rule serves until the block ends, after a minute with too many late requests
  std::uint64_t minutes = 0, agreed = 0;  // reported minutes; those in which both choose the same action
  MonoTime last_message{};
};

// The teacher's suggestion for the replicas of a workload, by its pods.
struct TeacherReplicas {
  std::size_t pods = 0, more = 0, fewer = 0;
  std::size_t now = 0;
  // The current number, plus or minus one if more than half of the pods favour that.
  std::size_t suggested() const { return 2 * more > pods ? now + 1 : 2 * fewer > pods ? now - 1 : now; }
};

class MarginTeacher {
 public:
  using Services = std::map<std::pair<std::string, std::string>, SteeredService>;  // by node and name

  // `learner` null: the teacher does not learn, and only the modes off and shadow work.
  // `reward`: the learning target; the trial compares the cost of minutes instead.
  MarginTeacher(TeacherMode mode, std::uint64_t seed, MarginLearner* learner, const Clock& clock,
                models::provision::TeacherReward reward = models::provision::TeacherReward::waste);
  void minute(const std::string& node, double node_cores, const LimitMinute& ended, const Traffic& traffic = {},
              const ReplicaPlace& replicas = {});
  // Returns the steps for the node, for wire::Ack.
  std::map<std::string, wire::MarginStep> margins(const std::string& node) const;

  // Returns suggestions by workload, for workloads whose number the teacher may choose.
  std::map<std::string, TeacherReplicas> replicas() const;
  // The student for the node's services without known latency; null: none is in use.
  std::shared_ptr<const Student> student(const std::string& node) const;
  const StudentRelease& release() const { return release_; }
  // The student on trial or in use; null: none.
  std::shared_ptr<const Student> trained() const { return learner_ != nullptr ? learner_->student() : nullptr; }

  const Services& services() const { return services_; }
  const MarginTrial& trial() const { return trial_; }
  std::optional<MarginLearnerFigures> learned() const;
  std::uint64_t beyond() const { return beyond_; }

 private:
  struct Chain {
    models::provision::ServiceCost costs;
    placement::RateForecast forecast;
    double last_rps = 0, last_used = 0;
    // Values of the last minute, until its action is known.
    std::optional<models::Observation> state;
    double reward = 0;
    std::optional<double> memory_next;  // memory margin after the action, unless something else changes it
  };
  bool acts() const { return trial_.mode() >= TeacherMode::canary; }
  void forget_old(MonoTime now);
  void keep_states();
  void follow_release(stats::NetworkState before);
  void learn_student(const std::string& key, const models::provision::LocalView& own, const models::Observation& whole,
                     const models::QNetwork* network);
  bool students_turn(const std::string& key, SteeredService& service, const models::provision::LocalView& own,
                     const TrialMinute& lived);
  void decide(const std::string& key, Chain& chain, SteeredService& service, double node_cores, bool follows,
              std::optional<std::size_t> done);

  MarginLearner* const learner_;
  const Clock& clock_;
  const models::provision::TeacherReward reward_;
  MarginTrial trial_;
  StudentRelease release_;
  stats::Random random_;
  Services services_;
  std::map<std::pair<std::string, std::string>, Chain> chains_;
  std::uint64_t beyond_ = 0;
};

// Returns "up" or "down" for CPU, "memory_up", "memory_down", "replicas_up", "replicas_down", or "keep".
std::string_view action_word(std::size_t action);

}  // namespace wattle::controller
