// decision_engine_shadow: the part of DecisionEngine for advice that the scheduler does not follow.
#include "placement/decide/decision_engine.hpp"

#include <utility>

namespace wattle::placement {

void DecisionEngine::set_shadow(bool on, bool anew) {
  if (on == shadow_ && !anew) return;
  shadow_ = on;
  advised_ = AdvisedCluster(options_.advised);
  saving_.begin_anew();
  modelled_.reset();
}

void DecisionEngine::set_control(std::optional<std::uint64_t> block) {
  if (block == control_) return;
  control_ = block;
  compared_ = {};
  if (shadow_) return;
  advised_ = AdvisedCluster(options_.advised);
  modelled_.reset();
}

std::optional<PlacementDecision> DecisionEngine::decide_on_copy(const ClusterView& view, const PodSpec& pod,
                                                                const std::vector<std::string>& candidates,
                                                                const models::QNetwork* network, double epsilon,
                                                                std::uint64_t turn, std::mt19937_64& random,
                                                                std::span<const std::size_t> rows, const Ahead& ahead) {
  if (!copying() || advised_.same() || !pod.node_name.empty()) return std::nullopt;
  AdvisedCluster::Copy& copy = advised_.copy(view, knowledge_.fleet(view), pod.owner);
  return decide(copy.view, &copy.fleet, pod, candidates, network, epsilon, turn, random, rows, ahead);
}

void DecisionEngine::reserve(const PodSpec& pod, const PlacementDecision& advice, MonoTime now, Duration hold) {
  if (!copying() || !advice.top || !pod.node_name.empty() || pod.daemonset) return;
  advised_.advise(pod.uid, {advice.node[advice.row_of[*advice.top]], advice.candidates[*advice.top]},
                  knowledge_.ask(pod), now, hold, pod.owner);
}

void DecisionEngine::reserve_again(const PodSpec& pod, AdvisedCluster::Place advised, AdvisedCluster::Place runs,
                                   MonoTime now) {
  if (!shadow_ || pod.daemonset) return;
  advised_.advise(pod.uid, std::move(advised), knowledge_.running(pod.uid).value_or(knowledge_.ask(pod)), now,
                  Duration::zero(), pod.owner);
  advised_.placed(pod.uid, std::move(runs), now);
}

void DecisionEngine::learned_of(PodHandle pod) {
  const std::string* uid = knowledge_.uid(pod);
  if (uid != nullptr && advised_.displaced(*uid)) advised_.learned(*uid, *knowledge_.running(pod));
}

void DecisionEngine::model_saving(const ClusterView& view, const Fleet& fleet) {
  advised_.expire(view, view.now);
  const ComparedLoad load = advised_.compare(fleet);
  const double passed_s = modelled_ ? seconds(view.now - *modelled_) : 0;
  if (modelled_ && shadow_) saving_.add(load, passed_s);
  if (modelled_ && control_) compared_.add(load, passed_s, options_.modelled.longest_gap_s);
  modelled_ = view.now;
}

}  // namespace wattle::placement
