#include "agent/run.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

#include "agent/collect/probe.hpp"
#include "agent/echo.hpp"
#include "agent/incarnation.hpp"
#include "agent/link.hpp"
#include "agent/metrics.hpp"
#include "agent/power/shallow_depth.hpp"
#include "agent/privileges.hpp"
#include "agent/provisioning.hpp"
#include "agent/sampler.hpp"
#include "agent/student_file.hpp"
#include "agent/ticker.hpp"
#include "common/descriptor_limit.hpp"
#include "common/hangup.hpp"
#include "common/http/server.hpp"
#include "common/open_metrics.hpp"
#include "common/program_metrics.hpp"
#include "common/pulse.hpp"
#include "common/service_notify.hpp"
#include "common/version.hpp"

namespace wattle::agent {

namespace {
constexpr std::chrono::milliseconds kNoPump{60'000};
// A loop without a turn for this long beyond its tick counts as hung: reading a kernel file may take seconds.
constexpr Duration kHangs = std::chrono::seconds(10);

// Logs each problem once when it starts and once when it ends.
class ErrorLog {
 public:
  explicit ErrorLog(const Log& log) : log_(log) {}
  void report(const Sample& sample) {
    std::set<std::string> now;
    for (const auto& [part, error] : sample.errors) {
      if (now.insert(part).second && !failing_.contains(part))
        log_.warn("collect.failed", "a source cannot be read", {{"source", part}, {"error", error}});
    }
    for (const auto& part : failing_)
      if (!now.contains(part)) log_.info("collect.recovered", "a source is readable again", {{"source", part}});
    failing_ = std::move(now);
  }

 private:
  const Log& log_;
  std::set<std::string> failing_;
};

http::Response live(const Pulse& pulse, MonoTime now, Duration tick) {
  const Duration age = pulse.age(now);
  if (age <= kHangs + tick) return {200, "text/plain", "ok\n"};
  return {503, "text/plain",
          "the main loop has been stuck for " + std::to_string(age / std::chrono::seconds(1)) + " s\n"};
}

// Returns the time until the link has work, at most until systemd's watchdog needs the next notification.
std::chrono::milliseconds patience(const Link* link, const ServiceNotify& notify) {
  const auto least = link != nullptr ? link->patience() : kNoPump;
  if (notify.every() == Duration(0)) return least;
  return std::min(least, std::chrono::duration_cast<std::chrono::milliseconds>(notify.every()));
}

Result<http::Server> serve(const AgentConfig& config, Metrics& metrics, Prober& prober, const Pulse& pulse,
                           const Clock& clock, const Log& log) {
  http::ServerOptions options;
  options.address = config.http_address;
  options.port = *config.http_port;
  options.threads = 1;
  options.max_connections = 32;
  options.tls = config.http_access.tls;
  options.token_file = config.http_access.token_file;
  options.hosts = config.http_access.hosts;
  options.open_paths.insert("/echo");
  return http::Server::start(
      options,
      {{"GET /metrics",
        [&metrics, &prober](const http::Request& request) {
          MetricsPage page = metrics_page(metrics.page(prober.counts()) + program_metrics("agent"), request.headers);
          return http::Response{200, std::move(page.content_type), std::move(page.body)};
        }},
       {"GET /echo", echo_route()},
       {"GET /livez",
        [&pulse, &clock, tick = config.tick](const http::Request&) { return live(pulse, clock.mono(), tick); }}},
      log);
}

Result<Incarnation> begin_incarnation(const AgentConfig& config, const Clock& clock, sqlite::FreshOutbox* spool) {
  // Must exceed every incarnation in the spool, even if the incarnation's file was lost and the clock was set back.
  const std::uint64_t least = spool != nullptr ? spool->last().incarnation + 1 : 0;
  auto incarnation = next_incarnation(config.state_dir, clock.wall(), least);
  if (!incarnation || !incarnation->not_kept || spool == nullptr) return incarnation;
  // The disk is full, possibly because of the previous process's log. Empties that log to make room.
  WATTLE_CHECK(spool->empty_log());
  return next_incarnation(config.state_dir, clock.wall(), least);
}
}  // namespace

Status run(const AgentConfig& config, const Clock& clock, const Log& log) {
  if (config.controller.endpoint.empty() && !config.http_port)
    return fail(Errc::malformed, "configuration", "neither controller.endpoint nor http.port is set",
                "set at least one of them");
  WATTLE_TRY(const Fd stop, stop_signals());  // before any thread starts
  ignore_hangup_without_terminal();
  raise_descriptor_limit();
  WATTLE_TRY(auto spool, open_spool(config, clock));
  WATTLE_TRY(const auto begun, begin_incarnation(config, clock, spool.get()));
  if (begun.healed)
    log.warn("incarnation.healed", "the incarnation file was damaged and has been replaced",
             {{"error", *begun.healed}, {"incarnation", begun.number}});
  if (begun.not_kept)
    log.error("incarnation.not_kept", "the incarnation cannot be written; the clock makes the next one larger",
              {{"error", *begun.not_kept}, {"incarnation", begun.number}});
  // Restores the energy settings that a killed process left, before they are examined.
  static_cast<void>(ShallowDepth(config.roots, config.state_dir, clock, log));
  WATTLE_TRY(auto sampler, Sampler::open_(config, clock, begun.number));
  // The actuator receives paths.
  if (config.provisioning.socket.empty()) sampler.leave_out_raw();
  WATTLE_TRY(auto prober, Prober::open_(config.probes, clock, log));  // opens sockets that need CAP_NET_RAW
  WATTLE_TRY(auto ticker, Ticker::start(config.tick));
  const Sample& first = sampler.tick();
  std::optional<ConnectionLatency> connections;
  if (!config.provisioning.socket.empty() && !config.provisioning.connections.empty()) {
    connections.emplace(config);
    sampler.note(connections->finding());
  }
  // Everything that needs a capability is open, and there is no other thread yet.
  sampler.note(privileges_finding(drop_privileges()));

  std::optional<transport::Context> context;
  std::unique_ptr<Link> link;
  if (!config.controller.endpoint.empty()) {
    context.emplace();
    WATTLE_TRY(link,
               Link::open_(*context, config, std::move(spool), hello_of(config, sampler, first.record), clock, log));
  }
  prober.start();
  std::optional<Provisioning> provisioning;
  if (!config.provisioning.socket.empty())
    provisioning.emplace(config.provisioning, log, connections ? &*connections : nullptr);
  std::optional<StudentFile> student;
  if (provisioning && config.provisioning.margins) student.emplace(actuation::kStudentFile, log);
  Metrics metrics(sampler.findings(), {});
  ErrorLog errors(log);
  const auto warn_of = [&log](const Finding& finding) {
    log.warn("source.lost", "a source is not available on this node",
             {{"source", finding.source}, {"why", finding.why}, {"fix", finding.fix}});
  };
  const auto use = [&](const Sample& sample, std::uint64_t late) {
    errors.report(sample);
    if (sample.lost) warn_of(*sample.lost);
    metrics.observe(sample, late);
    if (provisioning) {
      provisioning->report(sample, link ? link->pod_levels() : PodLevels(), link ? link->margins() : Margins());
      metrics.observe(provisioning->values());
    }
    if (!link) return;
    if (const auto sent = link->student(); sent && student) student->keep(*sent);
    link->push(sample.record, provisioning ? provisioning->minutes() : std::vector<LimitMinute>());
    for (const auto& change : sample.changes) link->report(change);
  };
  use(first, 0);  // before the page is served, so that the first request gets values

  Pulse pulse(clock.mono());
  ServiceNotify notify;
  std::optional<http::Server> server;
  if (config.http_port) {
    WATTLE_TRY(auto started, serve(config, metrics, prober, pulse, clock, log));
    server.emplace(std::move(started));
  }
  std::optional<http::Server> echo_server;
  if (config.echo.port) {
    WATTLE_TRY(auto started, serve_echo(config.echo.address, *config.echo.port, log));
    echo_server.emplace(std::move(started));
  }
  log.info("agent.started", "the agent is running",
           {{"node", config.node},
            {"version", kVersion},
            {"incarnation", begun.number},
            {"tick_ms", std::chrono::duration_cast<std::chrono::milliseconds>(config.tick).count()},
            {"controller", config.controller.endpoint},
            {"http_port", server ? server->port() : 0},
            {"echo_port", echo_server ? echo_server->port() : 0}});
  for (const auto& finding : sampler.findings())
    if (!finding.ok) warn_of(finding);

  const std::array<int, 2> fds{ticker.fd(), stop.get()};
  std::vector<const transport::Socket*> sockets;
  notify.ready("samples " + config.node);
  for (;;) {
    const MonoTime now = clock.mono();
    pulse.beat(now);
    notify.alive(now);
    sockets.clear();
    if (link && link->listening()) sockets.push_back(&link->socket());
    const auto ready = transport::poll(sockets, fds, patience(link.get(), notify));
    if (ready[sockets.size() + 1]) break;
    if (const auto due = ticker.due(); due > 0) {
      sampler.tick();
      use(sampler.with_probes(prober.values()), due - 1);
      if (link) metrics.observe(link->values());
    }
    if (link) link->pump(sampler);
    if (link && link->reused())  // the next start uses the next number
      return fail(Errc::conflict, "incarnation " + std::to_string(begun.number),
                  "was used by an earlier start of this node, whose state was lost and whose clock was set back",
                  "restart the agent, and keep state_dir over restarts");
    // CPU limits follow the samples, so a node with an actuator keeps its tick.
    const Duration tick = link && !provisioning ? std::max(config.tick, link->tick()) : config.tick;
    if (tick != ticker.period())
      if (const Status set = ticker.set(tick); !set) return set;
  }
  notify.stopping();
  log.info("agent.stopped", "the agent has stopped", {{"node", config.node}});
  return {};
}

}  // namespace wattle::agent
