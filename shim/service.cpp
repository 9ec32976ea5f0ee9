#include "shim/service.hpp"

#include <atomic>
#include <thread>
#include <utility>

#include "common/host_name.hpp"
#include "common/http/certificate.hpp"
#include "common/http/server.hpp"
#include "common/open_metrics.hpp"
#include "common/program_metrics.hpp"
#include "common/transport/ask_client.hpp"
#include "common/transport/keys.hpp"
#include "common/version.hpp"
#include "shim/beat.hpp"
#include "shim/board.hpp"
#include "shim/breaker.hpp"
#include "shim/extender.hpp"
#include "shim/feed.hpp"
#include "shim/latency_veto.hpp"
#include "shim/metrics.hpp"
#include "shim/plugin_link.hpp"
#include "shim/plugin_wire.hpp"
#include "shim/preemption.hpp"
#include "shim/prioritizer.hpp"
#include "shim/requests.hpp"

namespace wattle::shim {

namespace {
// A request with 5,000 whole nodes has 22 MB. Only two of those are handled at a time, because the unit limits memory
// to 256 MiB.
constexpr std::size_t kMaxBodyBytes = 32 << 20;
constexpr std::size_t kMaxBodiesBytes = 64 << 20;
// A thread without an iteration for this long counts as hung.
constexpr Duration kHangs = std::chrono::seconds(5);
constexpr Duration kCertificateEvery = std::chrono::minutes(1);
// kube-scheduler sends one request at a time; a request that waits for the controller holds a thread.
constexpr unsigned kThreads = 4;
constexpr unsigned kPageThreads = 2;
constexpr std::string_view kText = "text/plain; charset=utf-8";
// The standby of a shim that was killed keeps the port for a moment.
constexpr std::chrono::milliseconds kPortWait{50};
constexpr int kPortTries = 10;

Result<http::Server> listen(const http::ServerOptions& options, const http::Routes& routes, const Log& log) {
  auto server = http::Server::start(options, routes, log);
  for (int tries = 1; !server && server.error().code == Errc::conflict && tries < kPortTries; ++tries) {
    std::this_thread::sleep_for(kPortWait);
    server = http::Server::start(options, routes, log);
  }
  return server;
}
}  // namespace

struct Service::Impl {
  Impl(const ShimConfig& config, const transport::ClientOptions& ask, const Clock& c, const Log& l, ServiceNotify& n)
      : clock(c),
        log(l),
        notify(n),
        deadline(config.deadline),
        certificate(config.listen_access.tls.certificate),
        pool(context, ask, kThreads + 2),  // plus one for the beat and one for the plugin
        breaker(clock),
        answering(clock.mono()),
        prioritizer([this](wire::Ask& one, std::chrono::milliseconds wait) { return pool.ask(one, wait); }, board,
                    breaker, clock, config.deadline, config.bound_scores),
        beat([this](Facts facts) { return report(std::move(facts)); }, [this] { return facts(); }, breaker, clock, log),
        filter(config.filter),
        veto([this](const std::string& target, std::chrono::milliseconds wait) { return latency(target, wait); }, clock,
             config.deadline) {}

  // The standby ends before the server closes the socket that it shares: otherwise epoll would still report it.
  ~Impl() {
    if (standby) standby->end();
  }

  using Routes = http::Routes;
  Routes page_routes();
  http::Response prioritize(const http::Request& request);
  http::Response filter_nodes(const http::Request& request);
  http::Response preempt(const http::Request& request);
  // Scores of a well-formed ask, counted for metrics, beat and log.
  Scores scores(PodAsk& ask, MonoTime start);
  Result<std::string> answer_plugin(std::string_view message);
  Result<std::string> latency(const std::string& target, std::chrono::milliseconds wait);
  Status report(Facts facts);
  Facts facts();
  // Names of the hung threads, one per line; empty: none.
  std::string hanging() const;
  void report_change(const std::string& failure, std::string_view from);

  const Clock& clock;
  const Log& log;
  ServiceNotify& notify;
  const std::chrono::milliseconds deadline;
  const std::string certificate;
  std::string certificate_end;  // seconds since 1970; used only by the beat's thread, like the next
  MonoTime certificate_read{};
  transport::Context context;
  transport::AskPool pool;
  BoardKeeper board;
  Breaker breaker;
  Pulse answering;  // last beat of the workers that answer kube-scheduler
  Requests requests;
  Metrics metrics;
  std::shared_ptr<http::RefusalCounts> refusals = std::make_shared<http::RefusalCounts>();
  Prioritizer prioritizer;
  Beat beat;
  const bool filter;
  LatencyVeto veto;
  std::atomic<bool> without_controller = false;
  std::unique_ptr<Feed> feed;
  std::unique_ptr<PluginLink> plugin;
  std::unique_ptr<Standby> standby;
  std::optional<http::Server> server, web;  // destroyed first: their handlers use all other members
};

Scores Service::Impl::scores(PodAsk& ask, MonoTime start) {
  Scores answer = prioritizer.scores(ask);
  metrics.answer(answer, ask.problems.size());
  requests.note(ask.scheduler, answer.without_controller, start);
  // Otherwise the controller was not asked.
  if (!answer.failure.empty() || answer.source == Source::controller)
    report_change(answer.failure, to_string(answer.source));
  return answer;
}

Result<std::string> Service::Impl::answer_plugin(std::string_view message) {
  const MonoTime start = clock.mono();
  auto request = decode_plugin_request(message);
  if (!request) return forward_error(request);
  if (const auto* wanted = std::get_if<NodesWanted>(&*request)) {
    std::string nodes = encode_nodes(wanted->request_id, board.best(wanted->cpu_request_cores, wanted->most, start));
    metrics.request("plugin_nodes", 200, clock.mono() - start);
    return nodes;
  }
  auto& wanted = std::get<ScoresWanted>(*request);
  auto ask = parse_pod_ask(wanted.pod, std::move(wanted.candidates));
  if (!ask) metrics.request("plugin_scores", 400, clock.mono() - start);
  if (!ask) return tl::unexpected<Error>(ask.error());
  std::string reply = encode_scores(wanted.request_id, scores(*ask, start).scores);
  metrics.request("plugin_scores", 200, clock.mono() - start);
  return reply;
}

http::Response Service::Impl::prioritize(const http::Request& request) {
  const MonoTime start = clock.mono();
  http::Response response;
  auto ask = parse_extender_args(request.body);
  if (ask) {
    const Scores answer = scores(*ask, start);
    response.body = format_scores(ask->candidates, answer.scores);
  } else {
    response = {400, std::string(kText), ask.error().message() + "\n"};
  }
  metrics.request("prioritize", response.status, clock.mono() - start);
  return response;
}

Result<std::string> Service::Impl::latency(const std::string& target, std::chrono::milliseconds wait) {
  if (!breaker.may_ask())
    return fail(Errc::unavailable, "controller", "the circuit breaker is open",
                "requests resume once it answers a probe");
  auto client = pool.lend(wait);
  auto body =
      client ? (*client)->query("latency", {{"target", target}}, wait) : Result<std::string>(forward_error(client));
  note(breaker, body ? nullptr : &body.error());
  return body;
}

Status Service::Impl::report(Facts facts) {
  WATTLE_TRY(auto client, pool.lend(deadline));
  auto reported = client->query("shim", std::move(facts), deadline);
  if (!reported) return forward_error(reported);
  return {};
}

Facts Service::Impl::facts() {
  Facts out = requests.facts(clock.mono());
  out["host"] = host_name();
  out["version"] = std::string(kVersion);
  out["breaker_opened"] = std::to_string(breaker.times_opened());
  out["wrong_paths"] = std::to_string(refusals->get(http::Refused::path));
  // The certificate may be replaced while the shim runs, so it is read again regularly.
  if (!certificate.empty() && clock.mono() - certificate_read >= kCertificateEvery) {
    certificate_read = clock.mono();
    const auto end = http::certificate_file_end(certificate);
    certificate_end = end ? std::to_string(to_ns(*end) / 1'000'000'000) : std::string();
  }
  if (!certificate_end.empty()) out["certificate_end_s"] = certificate_end;
  return out;
}

std::string Service::Impl::hanging() const {
  const MonoTime now = clock.mono();
  std::string out;
  if (feed->pulse().age(now) > kHangs) out += "feed\n";
  if (beat.pulse().age(now) > kHangs) out += "beat\n";
  if (plugin && plugin->pulse().age(now) > kHangs) out += "answers to the scheduler plugin\n";
  if (answering.age(now) > kHangs) out += "answers to kube-scheduler\n";
  return out;
}

http::Response Service::Impl::filter_nodes(const http::Request& request) {
  const MonoTime start = clock.mono();
  http::Response response;
  const auto ask = parse_extender_args(request.body);
  const auto whole = raw_member(request.body, "NodeNames") ? std::nullopt : raw_member(request.body, "Nodes");
  const std::vector<std::string> names = ask ? ask->candidates : names_of(request.body);
  Veto answer = pass_all(names, ask ? "off" : "malformed");
  if (ask && filter && !whole) answer = veto.judge(*ask);
  if (ask && filter && whole) answer.reason = "whole_nodes";
  if (!ask && names.empty()) {
    response = {400, std::string(kText), ask.error().message() + "\n"};
  } else if (whole) {
    response.body = format_filter_nodes(*whole);
  } else {
    response.body = format_filter(answer.passed, answer.vetoed);
  }
  if (response.status == 200) metrics.filtered(answer, ask ? ask->problems.size() : 0);
  if (!answer.failure.empty()) report_change(answer.failure, "no filtering: all nodes pass");
  metrics.request("filter", response.status, clock.mono() - start);
  return response;
}

http::Response Service::Impl::preempt(const http::Request& request) {
  const MonoTime start = clock.mono();
  http::Response response;
  const auto preemption = parse_preemption_args(request.body);
  if (preemption) {
    const auto& ask = preemption->ask;
    Veto answer = pass_all(preemption->nodes, ask ? "off" : "malformed");
    // Whole nodes pass, as in filter_nodes().
    if (ask && filter && preemption->whole_pods) answer.reason = "whole_nodes";
    if (ask && filter && !preemption->whole_pods) answer = veto.judge_preemption(*ask);
    response.body = format_preemption(*preemption, answer.passed);
    metrics.preempted(answer);
    if (!answer.failure.empty()) report_change(answer.failure, "no filtering: all nodes pass");
  } else {
    response = {400, std::string(kText), preemption.error().message() + "\n"};
  }
  metrics.request("preempt", response.status, clock.mono() - start);
  return response;
}

// Routes of both endpoints.
Service::Impl::Routes Service::Impl::page_routes() {
  Routes routes;
  routes["GET /metrics"] = [this](const http::Request& request) {
    const MonoTime now = clock.mono();
    metrics.board(board.age(now));
    metrics.refused(*refusals);
    metrics.breaker(breaker.state(), breaker.times_opened());
    MetricsPage page = metrics_page(metrics.page() + program_metrics("shim"), request.headers);
    return http::Response{200, std::move(page.content_type), std::move(page.body)};
  };
  routes["GET /livez"] = [this](const http::Request&) {
    const std::string hung = hanging();
    if (hung.empty()) return http::Response{200, std::string(kText), "ok\n"};
    return http::Response{503, std::string(kText), "stuck:\n" + hung};
  };
  routes["GET /readyz"] = [this](const http::Request&) {
    const std::string controller = without_controller ? "does not answer" : "ok";
    const std::string state(to_string(board.state(clock.mono())));
    return http::Response{200, std::string(kText),
                          "ok\ncontroller: " + controller + "\nbreaker: " + std::string(to_string(breaker.state())) +
                              "\nboard: " + state + "\n"};
  };
  return routes;
}

// Logs one line when the controller fails and one when it answers again, not one per pod.
void Service::Impl::report_change(const std::string& failure, std::string_view from) {
  const bool failed = !failure.empty();
  if (without_controller.exchange(failed) == failed) return;
  if (failed)
    log.warn("controller.lost", "the controller does not answer", {{"why", failure}, {"answering_from", from}});
  else
    log.info("controller.recovered", "the controller answers again");
}

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Service::Service(Service&&) noexcept = default;
Service::~Service() = default;
std::uint16_t Service::port() const { return impl_->server->port(); }
std::optional<std::uint16_t> Service::http_port() const {
  return impl_->web ? std::optional(impl_->web->port()) : std::nullopt;
}

Result<Service> Service::start(const ShimConfig& config, const Clock& clock, const Log& log, ServiceNotify& notify,
                               std::unique_ptr<Standby> standby) {
  transport::ClientOptions ask;
  ask.endpoint = config.ask_endpoint;
  WATTLE_TRY(ask.key, transport::KeyPair::load(config.key_file));
  WATTLE_CHECK(ask.read_server_keys(config.server_key_file));
  transport::ClientOptions feed = ask;
  feed.endpoint = config.feed_endpoint;
  feed.reconnect_max = std::chrono::seconds(2);

  auto impl = std::make_unique<Impl>(config, ask, clock, log, notify);
  Impl* self = impl.get();
  impl->standby = std::move(standby);
  WATTLE_TRY(impl->feed, Feed::start(impl->context, feed, impl->board, clock, log));
  impl->beat.start();
  if (!config.plugin_socket.empty()) {
    auto answer = [self](std::string_view message) { return self->answer_plugin(message); };
    WATTLE_TRY(impl->plugin, PluginLink::start(config.plugin_socket, std::move(answer), clock, log));
  }

  Impl::Routes routes = self->page_routes();
  const auto verb = [](http::Handler handler) { return http::Route(std::move(handler), kMaxBodyBytes); };
  routes["POST /prioritize"] = verb([self](const http::Request& request) { return self->prioritize(request); });
  routes["POST /filter"] = verb([self](const http::Request& request) { return self->filter_nodes(request); });
  routes["POST /preempt"] = verb([self](const http::Request& request) { return self->preempt(request); });
  http::ServerOptions options;
  options.address = config.listen_address;
  options.port = config.listen_port;
  options.threads = kThreads;
  options.max_bodies_bytes = kMaxBodiesBytes;
  options.tls = config.listen_access.tls;
  options.token_file = config.http_access.token_file;  // only for /metrics
  options.hosts = config.http_access.hosts;
  options.open_paths.insert("/prioritize");
  options.open_paths.insert("/filter");
  options.open_paths.insert("/preempt");
  options.refusals = impl->refusals;
  // Runs on the workers that answer kube-scheduler: if none is free, systemd's watchdog gets no sign of life.
  options.turns = [self] {
    self->answering.beat(self->clock.mono());
    if (self->standby) self->standby->beat();
    if (self->hanging().empty()) self->notify.alive(self->clock.mono());
  };
  WATTLE_TRY(http::Server server, listen(options, routes, log));
  impl->server.emplace(std::move(server));
  if (impl->standby && options.tls.certificate.empty()) impl->standby->share(impl->server->listener());
  if (config.http_port) {
    http::ServerOptions pages;
    pages.address = config.http_address;
    pages.port = *config.http_port;
    pages.threads = kPageThreads;
    pages.tls = config.http_access.tls;
    pages.token_file = config.http_access.token_file;
    pages.hosts = config.http_access.hosts;
    pages.refusals = impl->refusals;
    WATTLE_TRY(http::Server web, http::Server::start(pages, self->page_routes(), log));
    impl->web.emplace(std::move(web));
  }
  return Service(std::move(impl));
}

}  // namespace wattle::shim
