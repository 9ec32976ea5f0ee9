#include "agent/provisioning.hpp"

#include <algorithm>

#include "common/seqpacket.hpp"

namespace wattle::agent {

namespace {
actuation::Level level_of(const ProvisioningConfig& config, const WorkloadValues& workload,
                          const PodLevels& pod_levels) {
  using actuation::Level;
  const auto has = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, workload.name) != names.end();
  };
  if (workload.kind != WorkloadKind::pod)
    return has(config.limits) ? Level::limits : has(config.protect) ? Level::protect : Level::suggest;
  const auto said = pod_levels.find(workload.name);
  const auto level = said != pod_levels.end() ? actuation::parse_level(said->second) : std::nullopt;
  if (!level) return Level::suggest;
  return actuation::writes(*level) && !config.pod_limits ? Level::suggest : *level;
}
}  // namespace

actuation::Orders orders_of(const ProvisioningConfig& config, const Sample& sample,
                            const std::map<std::string, actuation::Requests>& requests, const PodLevels& pod_levels,
                            const Margins& margins) {
  actuation::Orders out;
  const NodeValues& node = sample.record.node;
  if (node.cpu_cores && node.cpu_used_cores) out.headroom_cores = std::max(0.0, *node.cpu_cores - *node.cpu_used_cores);
  std::vector<actuation::Order> others;
  const auto& workloads = sample.record.workloads;
  for (std::size_t i = 0; i < std::min(workloads.size(), sample.paths.size()); ++i) {
    const WorkloadValues& workload = workloads[i];
    if (workload.ended || sample.paths[i].empty()) continue;
    const actuation::Level level = level_of(config, workload, pod_levels);
    if (level == actuation::Level::off) continue;
    actuation::Order order{sample.paths[i], level};
    if (const auto known = requests.find(workload.name); workload.kind != WorkloadKind::pod && known != requests.end())
      order.requests = known->second;
    if (const auto step = margins.find(workload.name);
        config.margins && level == actuation::Level::limits && step != margins.end())
      order.step =
          actuation::MarginStep{step->second.minute, step->second.margin_ratio, step->second.memory_margin_ratio};
    (actuation::writes(level) ? out.orders : others).push_back(std::move(order));
  }
  out.orders.resize(std::min(out.orders.size(), actuation::kMaxWorkloads));
  const std::size_t room = actuation::kMaxWorkloads - out.orders.size();
  others.resize(std::min(others.size(), room));
  out.orders.insert(out.orders.end(), others.begin(), others.end());
  return out;
}

Provisioning::Provisioning(ProvisioningConfig config, const Log& log, ConnectionLatency* connections)
    : config_(std::move(config)), log_(log), connections_(connections) {
  if (!config_.latency.empty()) latency_.emplace(config_.latency, log);
}

void Provisioning::lost(const Error& error) {
  if (!reported_lost_) log_.warn("actuator.lost", "the connection to the actuator is lost", {{"error", error}});
  reported_lost_ = true;
  reports_memory_ = false;
  peer_ = Fd();
  ProvisioningValues left;
  left.configured = true;
  left.latency = values_.latency;
  left.latency_known = values_.latency_known;
  left.answers = std::move(values_.answers);
  values_ = std::move(left);
}

// Takes each minute once; the actuator repeats it for some seconds.
void Provisioning::take_minute(const actuation::Grant& grant) {
  const auto found = steered_.find(grant.path);
  if (!grant.minute || found == steered_.end() || minutes_.size() == kMaxLimitMinutes) return;
  const actuation::Minute& ended = *grant.minute;
  if (!minute_.contains(found->second) && minute_.size() >= 2 * actuation::kMaxWorkloads) minute_.clear();
  if (auto& last = minute_[found->second]; last == ended)
    return;
  else
    last = ended;
  LimitMinute reported;
  reported.name = found->second;
  reported.number = ended.number;
  reported.steered = ended.steered;
  reported.margin_ratio = ended.margin_ratio;
  reported.rule_margin_ratio = ended.rule_margin_ratio;
  reported.throttled_ratio = ended.throttled_ratio;
  reported.used_cores = ended.used_cores;
  reported.granted_cores = ended.granted_cores;
  reported.deviation_ratio = ended.deviation_ratio;
  reported.peak_ratio = ended.peak_ratio;
  if (ended.requests) {
    reported.requests = ended.requests->count;
    reported.requests_over = ended.requests->over;
  }
  if (ended.memory) {
    reported.memory_margin_ratio = ended.memory->margin_ratio;
    reported.memory_granted_bytes = ended.memory->granted_bytes;
    reported.memory_used_bytes = ended.memory->used_bytes;
    reported.memory_used_over_peak = ended.memory->used_over_peak;
    reported.memory_short_ratio = ended.memory->short_ratio;
  }
  reported.student_out = ended.student_out;
  const auto target = std::ranges::find(config_.connections, reported.name, &AnswerTarget::workload);
  const auto answers = std::ranges::find(values_.answers, reported.name, &AnswerValues::workload);
  if (target != config_.connections.end() && answers != values_.answers.end() && answers->p99_s)
    reported.p99_over_target = *answers->p99_s / target->target_s;
  minutes_.push_back(std::move(reported));
}

// Reads the answer to the previous tick.
Status Provisioning::receive_orders() {
  WATTLE_TRY(const auto text, receive_packet(peer_, actuation::kMaxMessageBytes, std::chrono::milliseconds(0)));
  if (!text) return {};
  WATTLE_TRY(const auto report, actuation::parse_report(*text));
  ProvisioningValues received;
  received.configured = received.connected = true;
  received.student_out = report.student_out;
  received.latency = values_.latency;
  received.latency_known = values_.latency_known;
  received.answers = std::move(values_.answers);
  values_ = std::move(received);
  for (const auto& grant : report.grants) {
    const bool set = grant.state == actuation::State::set;
    values_.set += set;
    values_.used_cores += grant.used_cores;
    if (grant.granted_cores) (set ? values_.granted_cores : values_.suggested_cores) += *grant.granted_cores;
    if (grant.freed_cores) values_.freed_cores += *grant.freed_cores;
    reports_memory_ = reports_memory_ || (grant.minute && grant.minute->memory);
    take_minute(grant);
  }
  return {};
}

void Provisioning::report(const Sample& sample, const PodLevels& pod_levels, const Margins& margins) {
  minutes_.clear();
  values_.configured = true;
  marginal_.add(sample.record);
  std::map<std::string, actuation::Requests> requests;
  if (latency_) requests = latency_->totals();
  if (connections_ != nullptr) {
    connections_->read(sample);
    requests.merge(connections_->totals());
    values_.answers = connections_->values();
  }
  values_.latency = !config_.latency.empty() || !config_.connections.empty();
  values_.latency_known = requests.size();
  if (!peer_.valid()) {
    auto peer = connect_seqpacket(config_.socket);
    if (!peer) return lost(peer.error());
    peer_ = std::move(*peer);
  }
  if (const auto received = receive_orders(); !received) return lost(received.error());
  actuation::Orders orders = orders_of(config_, sample, requests, pod_levels, margins);
  for (actuation::Order& order : orders.orders)
    if (order.step && !reports_memory_) order.step->memory_ratio.reset();
  steered_.clear();
  for (std::size_t i = 0; i < std::min(sample.record.workloads.size(), sample.paths.size()); ++i)
    if (const auto& workload = sample.record.workloads[i];
        level_of(config_, workload, pod_levels) == actuation::Level::limits)
      steered_[sample.paths[i]] = workload.name;
  orders.core_power_w = marginal_.core_w();
  orders.memory = orders.orders.size() < actuation::kMaxWorkloads;
  if (const auto sent = send_packet(peer_, actuation::to_text(orders)); !sent) return lost(sent.error());
  if (reported_lost_)
    log_.info("actuator.back", "the connection to the actuator is restored", {{"socket", config_.socket}});
  reported_lost_ = false;
}

}  // namespace wattle::agent
