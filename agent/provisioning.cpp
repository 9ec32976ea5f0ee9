#include "agent/provisioning.hpp"

#include <algorithm>

#include "common/seqpacket.hpp"

namespace wattle::agent {

actuation::Orders orders_of(const ProvisioningConfig& config, const Sample& sample,
                            const std::map<std::string, actuation::Requests>& requests) {
  actuation::Orders out;
  const NodeValues& node = sample.record.node;
  if (node.cpu_cores && node.cpu_used_cores) out.headroom_cores = std::max(0.0, *node.cpu_cores - *node.cpu_used_cores);
  std::vector<actuation::Order> others;
  const auto& workloads = sample.record.workloads;
  for (std::size_t i = 0; i < std::min(workloads.size(), sample.paths.size()); ++i) {
    const WorkloadValues& workload = workloads[i];
    if (workload.ended || sample.paths[i].empty()) continue;
    const bool by_name = workload.kind != WorkloadKind::pod;
    const bool named = by_name && std::ranges::find(config.limits, workload.name) != config.limits.end();
    if (!named && config.level == actuation::Level::off) continue;
    actuation::Order order{sample.paths[i], named ? actuation::Level::limits : config.level};
    if (const auto known = requests.find(workload.name); by_name && known != requests.end())
      order.requests = known->second;
    (named ? out.orders : others).push_back(std::move(order));
  }
  const std::size_t room = actuation::kMaxWorkloads - std::min(actuation::kMaxWorkloads, out.orders.size());
  others.resize(std::min(others.size(), room));
  out.orders.insert(out.orders.end(), others.begin(), others.end());
  return out;
}

Provisioning::Provisioning(ProvisioningConfig config, const Log& log) : config_(std::move(config)), log_(log) {
  if (!config_.latency.empty()) latency_.emplace(config_.latency, log);
}

void Provisioning::lost(const Error& error) {
  if (!told_lost_) log_.warn("actuator.lost", {{"error", error}});
  told_lost_ = true;
  peer_ = Fd();
  values_ = {.configured = true, .latency_sources = values_.latency_sources, .latency_known = values_.latency_known};
}

// What the tick before was answered.
Status Provisioning::hear() {
  WATTLE_TRY(const auto text, receive_packet(peer_, actuation::kMaxMessageBytes, std::chrono::milliseconds(0)));
  if (!text) return {};
  WATTLE_TRY(const auto report, actuation::parse_report(*text));
  values_ = {.configured = true,
             .connected = true,
             .foreign = report.foreign,
             .latency_sources = values_.latency_sources,
             .latency_known = values_.latency_known};
  for (const auto& grant : report.grants) {
    const bool set = grant.state == actuation::State::set;
    values_.set += set;
    values_.refills += grant.refills;
    values_.used_cores += grant.used_cores;
    if (grant.granted_cores) (set ? values_.granted_cores : values_.suggested_cores) += *grant.granted_cores;
    if (grant.freed_cores) values_.freed_cores += *grant.freed_cores;
  }
  return {};
}

void Provisioning::tell(const Sample& sample) {
  values_.configured = true;
  std::map<std::string, actuation::Requests> requests;
  if (latency_) requests = latency_->totals();
  values_.latency_sources = config_.latency.size();
  values_.latency_known = requests.size();
  if (!peer_.valid()) {
    auto peer = connect_seqpacket(config_.socket);
    if (!peer) return lost(peer.error());
    peer_ = std::move(*peer);
  }
  if (const auto heard = hear(); !heard) return lost(heard.error());
  if (const auto sent = send_packet(peer_, actuation::to_text(orders_of(config_, sample, requests))); !sent)
    return lost(sent.error());
  if (told_lost_) log_.info("actuator.back", {{"socket", config_.socket}});
  told_lost_ = false;
}

}  // namespace wattle::agent
