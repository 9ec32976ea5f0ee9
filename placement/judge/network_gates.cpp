#include "placement/judge/network_gates.hpp"

#include <cmath>
#include <functional>
#include <utility>

#include "placement/cluster/sane_view.hpp"
#include "placement/judge/paired_choices.hpp"
#include "placement/worth/objective.hpp"
#include "placement/worth/shortlist.hpp"

namespace wattle::placement {
namespace {

constexpr const char* kOnTrial =
    "the plan's choice: the network is on trial and is used once thirty compared decisions cost no more energy on "
    "copies of this cluster";
constexpr const char* kUnproven =
    "the plan's choice: the network is a candidate and has not yet been shown to cost less energy on copies of this "
    "cluster";

// "7%", "0.3%"
std::string in_percent(double ratio) {
  const double rounded = std::round(1000 * ratio) / 10;
  const std::string text = std::to_string(rounded);
  return text.substr(0, text.find('.') + 2) + "%";
}

}  // namespace

std::uint64_t pod_key(const std::string& uid) { return std::hash<std::string>()(uid); }

NetworkGates::NetworkGates(NetworkGatesOptions options)
    : options_(options),
      plan_gate_{
          stats::NetworkTrial({.begins_gated = options_.require_evidence}), PairedSimulation(), Planner({}), {}, {}},
      learned_gate_{stats::NetworkTrial({.begins_gated = true, .begins_on_trial = options_.measured}),
                    PairedSimulation(),
                    Planner({}),
                    {},
                    {}} {
  reset("the start");
}

void NetworkGates::plan_with(PlanMaker* maker) {
  for (Planner* each : {&plan_gate_.planner, &learned_gate_.planner}) each->plan_with(maker);
}

void NetworkGates::on_pod_started(std::uint64_t key, std::size_t row, const PodEstimate& ask, double now_s) {
  for (PairedSimulation* each : copies()) each->placed(key, row, ask, now_s);
}

void NetworkGates::on_pod_ended(std::uint64_t key, std::optional<std::size_t> row, const PodEstimate* ask,
                                double now_s) {
  for (PairedSimulation* each : copies()) {
    const bool compared = each->ended(key, now_s);
    if (!compared && ask != nullptr && row) each->ended_there(*row, *ask, now_s);
  }
}

bool NetworkGates::compare(const GateQuestion& question, const models::QNetwork& network, bool learned) {
  if (std::exchange(recent_of_learned_, learned) != learned) plan_gate_.recent = {};
  const double behind = plan_gate_.test.mean();
  const bool rested = plan_gate_.test.rests();
  if (!contend(plan_gate_, question, network, nullptr)) {
    if (rested && plan_gate_.test.state() == stats::NetworkState::on_trial) plan_gate_.why = kOnTrial;
    return false;
  }
  const std::string over = " predicted energy than the planner's on copies of this cluster, over " +
                           std::to_string(plan_gate_.test.blocks()) + " blocks of decisions";
  if (!plan_gate_.test.in_use()) {
    plan_gate_.why = "the plan's choice: " + std::string(learned ? "the learned network" : "the network") +
                     " is withdrawn because its choices cost " + in_percent(behind) + " more" + over;
    if (plan_gate_.test.rests()) plan_gate_.why += "; the controller retries it after a day";
  } else {
    plan_gate_.why = (certificate_.empty() || learned ? "" : certificate_ + "; ") + "its choices cost " +
                     in_percent(std::abs(behind)) + (behind > 0 ? " more" : " less") + over;
  }
  if (on_verdict_) on_verdict_({false, !plan_gate_.test.in_use(), plan_gate_.why});
  return true;
}

bool NetworkGates::compare_learned(const GateQuestion& question, const models::QNetwork& learned,
                                   const models::QNetwork& baseline) {
  const double behind = learned_gate_.test.mean();
  if (!contend(learned_gate_, question, learned, &baseline)) return false;
  const bool gated = !learned_gate_.test.in_use();
  learned_gate_.why = "the learned network costs " + in_percent(std::abs(behind)) + (gated ? " more" : " less") +
                      " predicted energy than the initial network on copies of this cluster";
  if (on_verdict_) on_verdict_({true, gated, learned_gate_.why});
  return true;
}

// `incumbent` null: the planner.
bool NetworkGates::contend(ChoiceGate& gate, const GateQuestion& question, const models::QNetwork& challenger,
                           const models::QNetwork* incumbent) {
  const Shortlisted listed(challenger, options_.shortlist);
  std::optional<Shortlisted> other;
  if (incumbent != nullptr) other.emplace(*incumbent, options_.shortlist);
  const PodEstimate ask = question.model.ask(question.pod);
  const RewardConfig& reward = question.reward;
  std::vector<std::string> ignored;
  const PodSpec pod = with_sane_limits(question.pod, ignored);
  const Fleet& fleet = question.model.fleet(question.view);
  const double life_s = fleet.pods_stay ? INFINITY : ask.life_s;
  const double latency_w = fleet.latency_price * latency_price_w(reward, life_s);
  const PairedQuestion paired{question.view, fleet,         question.rows,    pod,
                              ask,           question.mask, pod_key(pod.uid), latency_w};
  const double margin = options_.margin;
  const auto figure = gate.copies.play(paired, by_network(paired, gate.planner, reward, &listed, margin),
                                       by_network(paired, gate.planner, reward, other ? &*other : nullptr, margin));
  if (!figure) return false;
  gate.recent.add(*figure, question.view.now);
  return gate.test.add(*figure, gate.copies.block_s());
}

void NetworkGates::reset(const std::string& why, const std::string& certificate) {
  const bool was = !plan_gate_.test.in_use();
  const bool tried = options_.require_evidence && (options_.measured || !certificate.empty());
  certificate_ = certificate;
  plan_gate_.test = stats::NetworkTrial({.begins_gated = options_.require_evidence, .begins_on_trial = tried});
  plan_gate_.copies.restart();
  plan_gate_.recent = {};
  plan_gate_.why = tried ? kOnTrial : plan_gate_.test.in_use() ? certificate : kUnproven;
  reset_learned();
  if (!on_verdict_ || was == !plan_gate_.test.in_use()) return;
  on_verdict_({false, !was, certificate.empty() ? why : why + ": " + (tried ? plan_gate_.why : certificate)});
}

void NetworkGates::reset_learned() {
  learned_gate_.test.restart();
  learned_gate_.copies.restart();
  learned_gate_.recent = {};
  learned_gate_.why.clear();
}

bool NetworkGates::restore(const stats::SavedTrial& state, std::string why) {
  if (!plan_gate_.test.restore(state)) return false;
  plan_gate_.why = std::move(why);
  return true;
}

void NetworkGates::restore_recent(const RecentBlocks& recent, bool of_learned) {
  plan_gate_.recent = recent;
  recent_of_learned_ = of_learned;
}

}  // namespace wattle::placement
