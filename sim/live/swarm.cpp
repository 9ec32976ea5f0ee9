#include "sim/live/swarm.hpp"

#include <algorithm>
#include <utility>

#include "common/config.hpp"
#include "common/dir.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "common/stats/quantile.hpp"
#include "common/transport/keys.hpp"
#include "common/version.hpp"
#include "sim/live/swarm_api.hpp"

namespace wattle::sim::live {

namespace {

constexpr Duration kRoundPerNode = std::chrono::microseconds(2);
constexpr Duration kNoteEvery = std::chrono::milliseconds(200);
constexpr Duration kDelaysKept = std::chrono::minutes(1);
constexpr std::size_t kMaxDelays = 1'000'000;
constexpr std::size_t kMaxPods = 100'000, kMostPodBytes = 64 << 10;
constexpr std::string_view kPods = "/pods/";

std::string key_file(const SwarmOptions& options, const std::string& node) {
  return options.keys_dir + "/" + node + ".key";
}

wire::Hello hello_of(const ServerModel& server, const SwarmOptions& options, std::uint64_t incarnation) {
  wire::Hello hello;
  hello.node = server.name;
  hello.incarnation = incarnation;
  hello.agent_version = kVersion;
  hello.features = {"psi", "probe"};
  hello.labels = {{"simulated", "true"}, {"wattle.dev/simulated", "true"}};
  hello.cpu_cores = server.cores;
  hello.memory_bytes = static_cast<std::uint64_t>(server.memory_bytes);
  hello.pod_capacity = options.fleet.pods_per_node;
  hello.max_batch = 32;
  hello.findings = {"energy: lost: a simulated node has no counter, its watts are a model's (none)"};
  return hello;
}

// Returns the nodes of this process. Their properties do not depend on the number of parts.
std::vector<ServerModel> servers_of(const SwarmOptions& options) {
  std::vector<ServerModel> all = synthetic_fleet(options.nodes, options.fleet.seed);
  const auto at = [&](std::size_t part) {
    return all.begin() + static_cast<std::ptrdiff_t>(options.nodes * part / options.parts);
  };
  return {std::make_move_iterator(at(options.part - 1)), std::make_move_iterator(at(options.part))};
}

}  // namespace

Status parse_listen(const std::string& text, SwarmOptions& options) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse::integer<std::uint16_t>(text.substr(colon + 1));
  if (!port || colon == 0)
    return fail(Errc::malformed, text, "is not an address and port", "write it as 127.0.0.1:8060");
  options.listen_address = text.substr(0, colon);
  options.listen_port = *port;
  return {};
}

Status parse_part(const std::string& text, SwarmOptions& options) {
  const auto slash = text.find('/');
  const auto part = parse::integer<std::size_t>(text.substr(0, slash));
  const auto parts = slash == std::string::npos ? std::nullopt : parse::integer<std::size_t>(text.substr(slash + 1));
  if (!part || !parts || *part == 0 || *part > *parts)
    return fail(Errc::malformed, text, "is not a share", "write 1/3, 2/3 and 3/3 for three processes");
  options.part = *part;
  options.parts = *parts;
  return {};
}

Status load_swarm_config(const std::string& path, SwarmOptions& options) {
  WATTLE_TRY(auto document, config::Document::load(path));
  config::Section root = document.root();
  std::int64_t nodes = static_cast<std::int64_t>(options.nodes);
  std::int64_t seed = static_cast<std::int64_t>(options.fleet.seed);
  std::int64_t window = static_cast<std::int64_t>(options.fleet.probe_window);
  std::int64_t services = static_cast<std::int64_t>(options.fleet.services_per_node);
  kube::ApiServer api;
  std::string api_url, api_ca;
  std::int64_t pods = static_cast<std::int64_t>(options.fleet.pods_per_node);
  std::string listen;
  root.read("nodes", nodes, {.min = 1, .max = 10'000});
  root.read("endpoint", options.endpoint);
  root.read("keys", options.keys_dir);
  root.read("server_key", options.server_key);
  root.read("listen", listen);
  root.read("seed", seed, {.min = 0});
  root.read("tick", options.tick_s, {.min = 0.1, .max = 60, .unit = config::Unit::seconds});
  root.read("pods_per_node", pods, {.min = 1, .max = 1000});
  root.read("services_per_node", services, {.min = 0, .max = 1000});
  config::Section cluster = root.section("kubernetes");
  cluster.read("server", api_url);
  cluster.read("ca", api_ca);
  cluster.read("token", api.token_file);
  config::Section latency = root.section("latency");
  latency.read("low_ms", options.fleet.latency_low_ms, {.min = 0, .max = 10'000});
  latency.read("high_ms", options.fleet.latency_high_ms, {.min = 0, .max = 10'000});
  latency.read("probe_window", window, {.min = 1, .max = 600});
  latency.read("rotate_every", options.fleet.rotate_every_s, {.min = 0, .unit = config::Unit::seconds});
  for (config::Section section : latency.sections("shifts")) {
    LatencyShift shift;
    section.read("at", shift.at_s, {.min = 0, .unit = config::Unit::seconds, .required = true});
    section.read("node", shift.node, true);
    section.read("latency_ms", shift.latency_ms, {.min = 0, .max = 10'000, .required = true});
    options.fleet.shifts.push_back(std::move(shift));
  }
  if (options.fleet.latency_low_ms > options.fleet.latency_high_ms)
    latency.mistake("high_ms", "is below low_ms", "use the larger value");
  if (!listen.empty())
    if (const Status parsed = parse_listen(listen, options); !parsed)
      root.mistake("listen", parsed.error().what, parsed.error().fix);
  if (!api_url.empty()) {
    auto origin = kube::parse_url(api_url);
    if (!origin) {
      cluster.mistake("server", "'" + api_url + "' " + origin.error().what, origin.error().fix);
    } else {
      if (origin->tls) origin->tls->ca_file = api_ca;
      api.origin = std::move(*origin);
      options.kube = std::move(api);
    }
  }
  options.nodes = static_cast<std::size_t>(nodes);
  options.fleet.seed = static_cast<std::uint64_t>(seed);
  options.fleet.probe_window = static_cast<std::size_t>(window);
  options.fleet.pods_per_node = static_cast<std::size_t>(pods);
  options.fleet.services_per_node = static_cast<std::size_t>(services);
  return document.finish();
}

Result<std::string> make_swarm_keys(const SwarmOptions& options) {
  WATTLE_CHECK(make_dirs(options.keys_dir, 0700));
  WATTLE_TRY(auto dir, Dir::open_(options.keys_dir));
  std::string allow;
  for (const ServerModel& server : servers_of(options)) {
    transport::KeyPair key;
    if (dir.exists(server.name + ".key")) {
      WATTLE_TRY(key, transport::KeyPair::load(key_file(options, server.name)));
    } else {
      key = transport::KeyPair::generate();
      WATTLE_CHECK(key.save(key_file(options, server.name)));
    }
    allow += key.public_key + " agent " + server.name + "\n";
  }
  return allow;
}

Swarm::Swarm(const SwarmOptions& options, const Clock& clock, const Log& log)
    : clock_(clock),
      log_(log),
      tick_(from_seconds(options.tick_s)),
      outbox_records_(options.outbox_records),
      incarnation_(static_cast<std::uint64_t>(to_ns(clock.wall()))),
      fleet_(servers_of(options), options.fleet, clock.mono()),
      connected_(fleet_.size(), false) {}

Swarm::~Swarm() = default;

Status Swarm::connect(const SwarmOptions& options) {
  WATTLE_TRY(const transport::ServerKeys server_keys, transport::load_server_keys(options.server_key));
  const MonoTime now = clock_.mono();
  const std::uint64_t seed = options.fleet.seed * 1'000'003 + options.nodes * (options.part - 1);
  nodes_.resize(fleet_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const ServerModel& server = fleet_.server(i);
    auto key = transport::KeyPair::load(key_file(options, server.name));
    if (!key) {
      Error error = std::move(key.error());
      if (error.code == Errc::not_found)
        error.fix = "make it with: wattle-sim swarm --make-keys ALLOW_FILE, or wattle keys new";
      return tl::unexpected<Error>(std::move(error));
    }
    transport::ClientOptions to;
    to.endpoint = options.endpoint;
    to.reconnect_max = transport::kAgentReconnectMax;
    to.key = std::move(*key);
    to.server_key = server_keys.current;
    to.next_server_key = server_keys.next;
    WATTLE_TRY(auto client, transport::Client::connect(context_, to));
    Node& node = nodes_[i];
    node.outbox = std::make_unique<transport::MemoryOutbox>(options.outbox_records);
    node.session = std::make_unique<transport::AgentSession>(
        std::move(client), *node.outbox, hello_of(server, options, incarnation_), clock_, log_, seed + i);
    // Spread over the tick, so that a thousand nodes do not send at once.
    node.due = now + tick_ * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(nodes_.size());
  }
  return {};
}

Result<std::unique_ptr<Swarm>> Swarm::start(const SwarmOptions& options, const Clock& clock, const Log& log) {
  if (options.nodes < options.parts)
    return fail(Errc::out_of_range, "nodes", "are fewer than processes that play them", "use at least one for each");
  std::unique_ptr<Swarm> swarm(new Swarm(options, clock, log));
  for (const LatencyShift& shift : options.fleet.shifts)
    if (!swarm->fleet_.index_of(shift.node))
      return fail(Errc::not_found, "latency.shifts: " + shift.node, "no such simulated node",
                  "they are named " + swarm->fleet_.server(0).name + " and so on");
  WATTLE_CHECK(swarm->connect(options));
  if (options.kube) swarm->kube_.emplace(*options.kube, options.fleet.seed, log);
  http::ServerOptions server;
  server.address = options.listen_address;
  server.port = options.listen_port;
  server.threads = 2;
  WATTLE_TRY(swarm->server_, http::Server::start(server, swarm->routes(), log));
  return swarm;
}

http::Routes Swarm::routes() {
  http::Routes routes;
  routes["GET /livez"] = [](const http::Request&) { return http::Response{200, "text/plain", "ok\n"}; };
  routes["GET /pods"] = [this](const http::Request&) {
    const std::lock_guard lock(mutex_);
    return http::Response{200, "application/json", pods_json(fleet_)};
  };
  routes["GET /nodes"] = [this](const http::Request&) {
    const std::lock_guard lock(mutex_);
    return http::Response{200, "application/json", nodes_json(fleet_, clock_.mono(), incarnation_, connected_)};
  };
  routes["GET /status"] = [this](const http::Request& request) { return on_status(request); };
  routes["POST /pods"] = {[this](const http::Request& request) { return on_bind(request); }, kMostPodBytes};
  routes["DELETE " + std::string(kPods)] = [this](const http::Request& request) { return on_unbind(request); };
  return routes;
}

http::Response Swarm::on_bind(const http::Request& request) {
  auto pod = parse_pod(request.body);
  if (!pod) return answer_error(pod.error());
  const std::lock_guard lock(mutex_);
  if (fleet_.pods() >= kMaxPods)
    return answer_error({Errc::exhausted, "pods", "there are " + std::to_string(kMaxPods) + " already", ""});
  auto placement = fleet_.bind(*pod, clock_.mono());
  if (!placement) return answer_error(placement.error());
  reports_.push_back(std::move(*placement));
  return {201, "application/json", SortedJson{{"uid", pod->uid}, {"node", pod->node}}.dump()};
}

http::Response Swarm::on_unbind(const http::Request& request) {
  const std::string uid = request.path.substr(std::min(kPods.size(), request.path.size()));
  const std::lock_guard lock(mutex_);
  auto placement = fleet_.unbind(uid, clock_.mono());
  if (!placement) return answer_error(placement.error());
  reports_.push_back(std::move(*placement));
  return {200, "application/json", SortedJson{{"uid", uid}, {"gone", true}}.dump()};
}

http::Response Swarm::on_status(const http::Request& request) const {
  const auto asked = request.query.find("window");
  const auto window_s = asked == request.query.end() ? std::optional<double>(10) : parse::real(asked->second);
  if (!window_s || !(*window_s > 0 && *window_s <= seconds(kDelaysKept)))
    return answer_error({Errc::out_of_range, "window", "is not within 0 and 60 s", ""});
  const AckDelays delays = ack_delays(from_seconds(*window_s));
  const std::lock_guard lock(mutex_);
  return {200, "application/json", status_json(reported_, delays)};
}

std::vector<bool> Swarm::wait(std::chrono::milliseconds timeout, int fd) {
  const int fds[] = {fd};
  const std::span<const int> others(fds, fd >= 0 ? 1 : 0);
  const MonoTime begun = clock_.mono();
  const auto left = [&](MonoTime until) {
    return std::chrono::ceil<std::chrono::milliseconds>(std::max(until - clock_.mono(), Duration(0)));
  };
  const MonoTime earliest =
      std::min(round_at_ + kRoundPerNode * static_cast<std::int64_t>(nodes_.size()), begun + timeout);
  if (earliest > begun) transport::poll({}, others, left(earliest));
  sockets_.clear();
  // A session may rebuild its socket, so the addresses are collected in each round.
  for (const Node& node : nodes_) sockets_.push_back(&node.session->socket());
  std::vector<bool> ready = transport::poll(sockets_, others, left(begun + timeout));
  round_at_ = clock_.mono();
  ready.resize(nodes_.size());
  return ready;
}

void Swarm::pump(std::chrono::milliseconds timeout, int fd) {
  std::vector<bool> busy = wait(timeout, fd);
  const MonoTime now = clock_.mono();
  sample(now, busy);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (!busy[i] && now < node.pump_at) continue;
    node.session->pump();
    node.pump_at = now + node.session->patience();
    busy[i] = true;
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!busy[i]) continue;
    Node& node = nodes_[i];
    const transport::SessionStatus& session = node.session->status();
    connected_[i] = session.welcomed;
    while (!node.unacked.empty() && node.unacked.front().first <= session.acked_seq) {
      delays_s_.emplace_back(now, seconds(now - node.unacked.front().second));
      node.unacked.pop_front();
    }
  }
  if (now - noted_at_ >= kNoteEvery) note(now);
}

// Samples due nodes and collects bindings and ends; marks their nodes as busy.
void Swarm::sample(MonoTime now, std::vector<bool>& busy) {
  std::vector<wire::Placement> reports;
  std::vector<std::pair<std::size_t, Record>> records;
  {
    const std::lock_guard lock(mutex_);
    for (wire::Placement& gone : fleet_.expire(now)) reports_.push_back(std::move(gone));
    if (kube_)
      for (wire::Placement& reported : kube_->apply(fleet_, now)) reports_.push_back(std::move(reported));
    reports.swap(reports_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (now < nodes_[i].due) continue;
      // After a pause missed ticks are skipped.
      const Duration tick = std::max(tick_, nodes_[i].session->status().tick);
      const auto behind = (now - nodes_[i].due) / tick;
      nodes_[i].due += tick * (behind + 1);
      records.emplace_back(i, fleet_.sample(i, now));
    }
  }
  for (auto& [i, record] : records) {
    record.incarnation = incarnation_;
    record.wall_ns = to_ns(clock_.wall());
    nodes_[i].unacked.emplace_back(record.seq, now);
    if (nodes_[i].unacked.size() > outbox_records_) nodes_[i].unacked.pop_front();
    if (const Status pushed = nodes_[i].outbox->push(std::move(record)); !pushed)
      log_.warn("swarm.record_lost", "a record was lost", {{"node", fleet_.server(i).name}, {"error", pushed.error()}});
    busy[i] = true;
    ++samples_;
  }
  for (wire::Placement& report : reports) {
    report.wall_ns = to_ns(clock_.wall());
    if (const auto i = fleet_.index_of(report.node)) {
      nodes_[*i].session->report(std::move(report));
      busy[*i] = true;
    }
    ++placements_;
  }
}

// Copies the status for HTTP, whose threads may not touch sessions. Requires the lock.
void Swarm::note(MonoTime now) {
  noted_at_ = now;
  reported_ = status_now();
  while (!delays_s_.empty() && (now - delays_s_.front().first > kDelaysKept || delays_s_.size() > kMaxDelays))
    delays_s_.pop_front();
}

AckDelays Swarm::ack_delays(Duration window) const {
  std::vector<double> delays;
  {
    const std::lock_guard lock(mutex_);
    const MonoTime since = clock_.mono() - window;
    for (auto at = delays_s_.rbegin(); at != delays_s_.rend() && at->first >= since; ++at) delays.push_back(at->second);
  }
  AckDelays out;
  out.records = delays.size();
  if (delays.empty()) return out;
  std::sort(delays.begin(), delays.end());
  out.p50_s = stats::quantile_of_sorted(delays, 0.5).value_or(0);
  out.p99_s = stats::quantile_of_sorted(delays, 0.99).value_or(0);
  out.max_s = delays.back();
  return out;
}

SwarmStatus Swarm::status() const {
  const std::lock_guard lock(mutex_);
  return status_now();
}

SwarmStatus Swarm::status_now() const {
  const MonoTime now = clock_.mono();
  SwarmStatus status;
  status.nodes = nodes_.size();
  status.samples = samples_;
  status.placements = placements_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const transport::SessionStatus& session = node.session->status();
    status.dropped += node.outbox->dropped();
    status.waiting += node.outbox->size();
    status.reconnects += session.reconnects;
    if (!node.unacked.empty()) status.oldest_s = std::max(status.oldest_s, seconds(now - node.unacked.front().second));
    if (session.welcomed)
      ++status.welcomed;
    else if (status.problem.empty() && !session.problem.empty())
      status.problem = fleet_.server(i).name + ": " + session.problem;
  }
  status.pods = fleet_.pods();
  return status;
}

}  // namespace wattle::sim::live
