// margin_teacher: the teacher of provisioning above the nodes' own rule: what it would do about each service's margin, and where it may, does.
// Source   minutes of services and VMs at level `limits`, as their nodes tell them (LimitMinute); of requests that a node does not know,
//          what somebody else says (Traffic). Who has no latency that is known is left to the rule
// Gives    per service the action of the highest Q (models/provision), beside where the rule goes; what the rule costs more by that Q; in
//          mode canary and live, in the blocks that are the teacher's, a step for the node: a rung of CPU's margin or of memory's, which
//          only where the node limits memory now. Replicas are never among them: a service of a node is one (replica_book)
// Learns   what really was done and what it cost: margin_learner
// Bounds   kMostServices; who has not been told of for ten minutes is forgotten
// Units    cores, shares, seconds of the wall clock; costs as models/provision/service_cost.hpp
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
#include "controller/provision/traffic.hpp"
#include "models/provision/drpc_reward.hpp"
#include "models/provision/service_cost.hpp"
#include "placement/rate_forecast.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostSteeredServices = 4096;

enum class ToldBy : std::uint8_t { nobody, node, prometheus };
std::string_view to_string(ToldBy whom);

// Of the minute that ended last.
struct SteeredService {
  LimitMinute minute;
  double cost = 0, waste = 0;               // of it; waste: beyond its need
  double wanted_margin = 0;                 // where the teacher would go
  std::optional<double> wanted_memory;      // likewise of memory; absent: not limited now
  std::size_t action = 0, rule_action = 0;  // models/provision/choice.hpp
  double gain = 0;                          // Q of the teacher's less that of the rule's, 0 or more
  bool known = false;                       // its latency is; without, the rule serves and nothing is learned
  ToldBy rate_by = ToldBy::nobody, latency_by = ToldBy::nobody;
  std::optional<double> rate_rps;
  std::optional<placement::ExpectedRate> expected;  // of the minute under way
  placement::ForecastScore forecast;
  bool teacher_next = false;  // the minute under way is the teacher's
  bool explored = false;
  bool guarded = false;  // it is the rule's until its block ends, after a minute with too many late requests
  std::uint64_t minutes = 0, agreed = 0;  // told; of those, in which both would do the same
  MonoTime heard{};
};

class MarginTeacher {
 public:
  using Services = std::map<std::pair<std::string, std::string>, SteeredService>;  // by node and name

  // `learner`: none: nothing is learned, and no mode but off and shadow acts.
  // `reward`: what it learns by; whether it is heard goes by what minutes cost.
  MarginTeacher(TeacherMode mode, std::uint64_t seed, MarginLearner* learner, const Clock& clock,
                models::provision::TeacherReward reward = models::provision::TeacherReward::waste);
  void minute(const std::string& node, double node_cores, const LimitMinute& ended, const Traffic& traffic = {});
  // For the node, as wire::Ack has it.
  std::map<std::string, wire::MarginStep> margins(const std::string& node) const;

  const Services& services() const { return services_; }
  const MarginTrial& trial() const { return trial_; }
  std::optional<MarginLearnerFigures> learned() const;
  std::uint64_t beyond() const { return beyond_; }

 private:
  struct Chain {
    models::provision::ServiceCost costs;
    placement::RateForecast forecast;
    double last_rps = 0, last_used = 0;
    // Of the last minute, until what was done is known.
    std::optional<models::Observation> state;
    double reward = 0;
    std::optional<double> memory_next;  // its margin after what is done, should nobody else move it
  };
  bool acts() const { return trial_.mode() >= TeacherMode::canary; }
  void forget_old(MonoTime now);
  void decide(const std::string& key, Chain& chain, SteeredService& service, double node_cores, bool follows);

  MarginLearner* const learner_;
  const Clock& clock_;
  const models::provision::TeacherReward reward_;
  MarginTrial trial_;
  stats::Random random_;
  Services services_;
  std::map<std::pair<std::string, std::string>, Chain> chains_;
  std::uint64_t beyond_ = 0;
};

// "up", "down" of CPU, "memory_up", "memory_down", "keep".
std::string_view action_word(std::size_t action);

}  // namespace wattle::controller
