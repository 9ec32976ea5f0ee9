#include "agent/run.hpp"

#include <sys/resource.h>

#include <array>
#include <optional>
#include <set>
#include <span>

#include "agent/incarnation.hpp"
#include "agent/metrics.hpp"
#include "agent/sampler.hpp"
#include "agent/ticker.hpp"
#include "common/http/server.hpp"
#include "common/transport/keys.hpp"
#include "common/transport/session.hpp"
#include "common/version.hpp"

namespace wattle::agent {

namespace {
constexpr std::uint64_t kMaxBatch = 64;
constexpr std::chrono::milliseconds kPump{100};  // the session wants to be called 10 times a second
constexpr std::chrono::milliseconds kNoPump{60'000};

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
  hello.max_batch = kMaxBatch;
  return hello;
}

Result<transport::Client> connect(transport::Context& context, const ControllerConfig& config) {
  transport::ClientOptions options;
  options.endpoint = config.endpoint;
  WATTLE_TRY(options.key, transport::KeyPair::load(config.key_file));
  WATTLE_TRY(options.server_key, transport::load_public_key(config.server_key_file));
  return transport::Client::connect(context, options);
}

// The link to the controller; everything that only exists when there is one.
class Link {
 public:
  Link(transport::Client client, const AgentConfig& config, wire::Hello hello, const Clock& clock, const Log& log)
      : node_(config.node),
        clock_(clock),
        log_(log),
        outbox_(config.outbox_records),
        // Backoff must differ between nodes that lost the same controller, not be secret.
        session_(std::move(client), outbox_, std::move(hello), clock, log, std::hash<std::string>{}(config.node)) {}

  void push(const Record& record) {
    if (auto pushed = outbox_.push(record); !pushed) log_.error("outbox.push", {{"error", pushed.error()}});
  }
  void report(const PodChange& change) {
    session_.report({change.uid, node_, change.gone, change.cgroup_id, to_ns(clock_.wall())});
  }
  void pump(const Sampler& sampler) {
    session_.pump();
    const bool welcomed = session_.status().welcomed;
    if (welcomed != welcomed_) {
      if (welcomed)
        log_.info("controller.welcomed", {{"node", node_}});
      else
        log_.warn("controller.lost", {{"problem", session_.status().problem}});
      // A controller that was started anew has forgotten what was told to the one before.
      if (welcomed && welcomed_once_)
        for (const auto& pod : sampler.pods()) report(pod);
      welcomed_once_ = welcomed_once_ || welcomed;
      welcomed_ = welcomed;
    }
  }
  LinkValues values() const {
    const auto& status = session_.status();
    return {true, status.welcomed, status.sent_records, status.reconnects, outbox_.size(), outbox_.dropped()};
  }
  const transport::Socket& socket() const { return session_.socket(); }

 private:
  std::string node_;
  const Clock& clock_;
  const Log& log_;
  transport::MemoryOutbox outbox_;
  transport::AgentSession session_;
  bool welcomed_ = false, welcomed_once_ = false;
};

// Each trouble once when it begins and once when it ends, not at every tick.
class ErrorLog {
 public:
  explicit ErrorLog(const Log& log) : log_(log) {}
  void tell(const Sample& sample) {
    std::set<std::string> now;
    for (const auto& [part, error] : sample.errors) {
      if (now.insert(part).second && !failing_.contains(part))
        log_.warn("collect.failed", {{"source", part}, {"error", error}});
    }
    for (const auto& part : failing_)
      if (!now.contains(part)) log_.info("collect.recovered", {{"source", part}});
    failing_ = std::move(now);
  }

 private:
  const Log& log_;
  std::set<std::string> failing_;
};

Result<http::Server> serve(const AgentConfig& config, const Metrics& metrics, Prober& prober, const Log& log) {
  http::ServerOptions options;
  options.address = config.http_address;
  options.port = *config.http_port;
  options.threads = 1;
  options.max_connections = 32;
  return http::Server::start(
      options,
      {{"GET /metrics",
        [&](const http::Request&) {
          return http::Response{200, "text/plain; version=0.0.4; charset=utf-8", metrics.page(prober.counts())};
        }},
       {"GET /livez",
        [](const http::Request&) {
          return http::Response{200, "text/plain", "ok\n"};
        }}},
      log);
}
}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Status run(const AgentConfig& config, const Clock& clock, const Log& log) {
  if (config.controller.endpoint.empty() && !config.http_port)
    return fail(Errc::malformed, "configuration", "neither controller.endpoint nor http.port is set",
                "set one; an agent that nobody hears is of no use");
  WATTLE_TRY(const Fd stop, stop_signals());  // before any thread is started
  raise_descriptor_limit();
  WATTLE_TRY(const auto incarnation, next_incarnation(config.state_dir, clock.wall()));
  WATTLE_TRY(auto sampler, Sampler::open_(config, clock, incarnation));
  WATTLE_TRY(auto ticker, Ticker::start(config.tick));
  const Sample& first = sampler.tick();

  std::optional<transport::Context> context;
  std::optional<Link> link;
  if (!config.controller.endpoint.empty()) {
    context.emplace();
    WATTLE_TRY(auto client, connect(*context, config.controller));
    link.emplace(std::move(client), config, hello_of(config, sampler, first.record), clock, log);
  }
  Prober prober(config.probes, clock, log);
  prober.start();
  Metrics metrics(sampler.findings());
  std::optional<http::Server> server;
  if (config.http_port) {
    WATTLE_TRY(auto started, serve(config, metrics, prober, log));
    server.emplace(std::move(started));
  }
  log.info("agent.started", {{"node", config.node},
                             {"version", kVersion},
                             {"incarnation", incarnation},
                             {"tick_ms", std::chrono::duration_cast<std::chrono::milliseconds>(config.tick).count()},
                             {"controller", config.controller.endpoint},
                             {"http_port", server ? server->port() : 0}});
  for (const auto& finding : sampler.findings())
    if (!finding.ok)
      log.warn("source.lost", {{"source", finding.source}, {"why", finding.why}, {"mend", finding.mend}});

  ErrorLog errors(log);
  const auto use = [&](const Sample& sample, std::uint64_t late) {
    errors.tell(sample);
    metrics.observe(sample, late);
    if (!link) return;
    link->push(sample.record);
    for (const auto& change : sample.changes) link->report(change);
  };
  use(first, 0);

  const std::array<int, 2> fds{ticker.fd(), stop.get()};
  std::vector<const transport::Socket*> sockets;
  if (link) sockets.push_back(&link->socket());
  for (;;) {
    const auto ready = transport::poll(sockets, fds, link ? kPump : kNoPump);
    if (ready[sockets.size() + 1]) break;
    if (const auto due = ticker.due(); due > 0) {
      sampler.tick();
      use(sampler.with_probes(prober.values()), due - 1);
      if (link) metrics.observe(link->values());
    }
    if (link) link->pump(sampler);
  }
  log.info("agent.stopped", {{"node", config.node}});
  return {};
}

}  // namespace wattle::agent
