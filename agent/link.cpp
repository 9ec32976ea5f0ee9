#include "agent/link.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "agent/incarnation.hpp"
#include "common/boot_time.hpp"
#include "common/transport/keys.hpp"
#include "common/transport/outbox.hpp"
#include "common/version.hpp"

namespace wattle::agent {

namespace {
constexpr std::uint64_t kMaxBatch = 64;
constexpr Duration kEnrolPatience = std::chrono::milliseconds(250);
constexpr Duration kLevelsHold = std::chrono::minutes(1);
constexpr Duration kMarginsHold = std::chrono::seconds(10);
constexpr std::size_t kOutboxRecords = 600;  // without a spool: ten minutes at a tick of 1 s, below 10 MB
}  // namespace

wire::Hello hello_of(const AgentConfig& config, const Sampler& sampler, const Record& first) {
  wire::Hello hello;
  hello.node = config.node;
  hello.incarnation = first.incarnation;
  hello.agent_version = kVersion;
  for (const auto& finding : sampler.findings()) {
    if (finding.ok) hello.features.push_back(finding.source);
    hello.findings.push_back(finding.text());
  }
  if (!config.probes.empty()) hello.features.emplace_back("probe");
  hello.labels = config.labels;
  hello.cpu_cores = first.node.cpu_cores.value_or(0);
  hello.memory_bytes = first.node.memory_total_bytes.value_or(0);
  hello.pod_capacity = config.pod_capacity;
  hello.link_bytes_per_s = sampler.link_bytes_per_s();
  hello.max_batch = kMaxBatch;
  return hello;
}

Result<std::unique_ptr<sqlite::FreshOutbox>> open_spool(const AgentConfig& config, const Clock& clock) {
  if (config.spool_max_bytes == 0 || config.controller.endpoint.empty()) return nullptr;
  WATTLE_CHECK(make_state_dir(config.state_dir));
  sqlite::SpoolOptions options;
  options.path = config.state_dir + "/spool.db";
  options.max_bytes = config.spool_max_bytes;
  return sqlite::FreshOutbox::open_(std::move(options), clock);
}

Link::Link(transport::Context& context, const AgentConfig& config, std::unique_ptr<sqlite::FreshOutbox> spool,
           wire::Hello hello, const Clock& clock, const Log& log)
    : context_(context),
      config_(config.controller),
      hello_(std::move(hello)),
      node_(config.node),
      clock_(clock),
      log_(log),
      spool_(spool.get()),
      sleep_(config.power, config.roots, config.state_dir, suspended, clock, log) {
  if (spool)
    outbox_ = std::move(spool);
  else
    outbox_ = std::make_unique<transport::MemoryOutbox>(kOutboxRecords);
  report_spool();
}

Result<std::unique_ptr<Link>> Link::open_(transport::Context& context, const AgentConfig& config,
                                          std::unique_ptr<sqlite::FreshOutbox> spool, wire::Hello hello,
                                          const Clock& clock, const Log& log) {
  std::unique_ptr<Link> link(new Link(context, config, std::move(spool), std::move(hello), clock, log));
  const bool enrols = !config.controller.enrol.url.empty();
  if (enrols) {
    WATTLE_CHECK(make_state_dir(config.state_dir));
    WATTLE_TRY(std::string key, own_public_key(config.controller.key_file));
    link->enroller_.emplace(config.controller.enrol, config.node, std::move(key), config.controller.server_key_file,
                            clock, log);
  }
  const Status connected = link->connect();
  if (!connected && !(enrols && connected.error().code == Errc::not_found))
    return tl::unexpected<Error>(connected.error());
  if (!connected) link->enroller_->ask();
  return link;
}

Status Link::connect() {
  transport::ClientOptions options;
  options.endpoint = config_.endpoint;
  options.reconnect_max = transport::kAgentReconnectMax;
  WATTLE_TRY(options.key, transport::KeyPair::load(config_.key_file));
  WATTLE_CHECK(options.read_server_keys(config_.server_key_file));
  WATTLE_TRY(auto client, transport::Client::connect(context_, options));
  // The backoff must differ between nodes that lost the same controller; it need not be secret.
  session_.emplace(std::move(client), *outbox_, hello_, clock_, log_, std::hash<std::string>{}(node_));
  return {};
}

// Requests enrolment if the controller does not know the key, and starts the session once the keys have arrived.
void Link::follow_enrolment(const Sampler& sampler) {
  if (session_ && session_->status().key_refused) return enroller_->ask();
  if (session_ || enroller_->done() == 0) return;
  if (const Status connected = connect(); !connected) return;
  for (const auto& pod : sampler.pods()) report(pod);
}

void Link::push(const Record& record, const std::vector<LimitMinute>& minutes) {
  if (!minutes.empty()) {
    Record with = record;
    with.limit_minutes = minutes;
    return push(with);
  }
  sleep_.used(record.node.cpu_used_cores, record.node.cpu_cores);
  thinner_.thin(record, [&](const Record& reported) {
    if (auto pushed = outbox_->push(reported); !pushed)
      log_.error("outbox.push", "a record was not queued", {{"error", pushed.error()}});
  });
}

void Link::report(const PodChange& change) {
  if (!session_) return;  // all are reported at its start
  session_->report({change.uid, node_, change.gone, change.cgroup_id, to_ns(clock_.wall())});
}

// Logs each problem once when it starts and once when it ends.
void Link::report_spool() {
  if (spool_ == nullptr) return;
  for (const Error& error : spool_->news())
    log_.error("spool.trouble", "the spool file is not usable", {{"error", error}});
  const bool durable = spool_->values().durable;
  if (std::exchange(durable_, durable) == durable) return;
  if (durable)
    log_.info("spool.recovered", "the spool file is usable again",
              {{"records", spool_->size()}, {"dropped", spool_->dropped()}});
  else
    log_.error("spool.in_memory", "records are kept in memory because the spool file is not usable",
               {{"records", spool_->size()}});
}

void Link::pump(const Sampler& sampler) {
  if (spool_ != nullptr) spool_->maintain();
  if (enroller_) follow_enrolment(sampler);
  if (!session_) return report_spool();
  session_->pump();
  sleep_.step(*session_);
  report_spool();
  const bool welcomed = session_->status().welcomed;
  if (session_->silent()) welcomed_ = false;  // not lost
  if (welcomed == welcomed_) return;
  if (welcomed)
    log_.info("controller.welcomed", "the controller has accepted the agent", {{"node", node_}});
  else
    log_.warn("controller.lost", "the connection to the controller is lost", {{"problem", session_->status().problem}});
  // A restarted controller does not know earlier records.
  if (welcomed && welcomed_once_) thinner_.report_all();
  if (welcomed && welcomed_once_)
    for (const auto& pod : sampler.pods()) report(pod);
  welcomed_once_ = welcomed_once_ || welcomed;
  welcomed_ = welcomed;
}

std::chrono::milliseconds Link::patience() const {
  Duration patience = session_ ? session_->patience() : kEnrolPatience;
  if (spool_ != nullptr) patience = std::min(patience, spool_->patience());
  return std::chrono::ceil<std::chrono::milliseconds>(patience);
}

std::map<std::string, std::string> Link::pod_levels() const {
  if (!session_ || clock_.mono() - session_->status().acked_at > kLevelsHold) return {};
  return session_->status().pod_levels;
}

std::map<std::string, wire::MarginStep> Link::margins() const {
  if (!session_ || clock_.mono() - session_->status().acked_at > kMarginsHold) return {};
  return session_->status().margins;
}

Duration Link::tick() const {
  if (!session_ || clock_.mono() - session_->status().acked_at > kLevelsHold) return {};
  return session_->status().tick;
}

std::optional<SentStudent> Link::student() const {
  if (!session_ || session_->status().acked_at == MonoTime{}) return std::nullopt;
  return SentStudent{session_->status().student_version, session_->status().student};
}

LinkValues Link::values() const {
  const auto status = session_ ? session_->status() : transport::SessionStatus{};
  LinkValues values{true, status.welcomed, status.sent_records, outbox_->size(), outbox_->dropped()};
  if (spool_ != nullptr) {
    const auto spool = spool_->values();
    values.spool = true;
    values.spool_durable = spool.durable;
    values.spool_bytes = spool.bytes;
    values.spool_gap_records = spool.gap_records;
    values.spool_written_bytes = spool.written_bytes;
  }
  return values;
}

}  // namespace wattle::agent
