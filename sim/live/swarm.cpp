#include "sim/live/swarm.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/config.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"
#include "common/transport/keys.hpp"
#include "common/version.hpp"
#include "sim/live/swarm_api.hpp"

namespace wattle::sim::live {

namespace {

constexpr std::size_t kAckDelays = 20'000;
constexpr std::size_t kMaxPods = 100'000;
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

}  // namespace

Status parse_listen(const std::string& text, SwarmOptions& options) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse::integer<std::uint16_t>(text.substr(colon + 1));
  if (!port || colon == 0) return fail(Errc::malformed, text, "is no address and port", "write it as 127.0.0.1:8060");
  options.listen_address = text.substr(0, colon);
  options.listen_port = *port;
  return {};
}

Status load_swarm_config(const std::string& path, SwarmOptions& options) {
  WATTLE_TRY(auto document, config::Document::load(path));
  config::Section root = document.root();
  std::int64_t nodes = static_cast<std::int64_t>(options.nodes);
  std::int64_t seed = static_cast<std::int64_t>(options.fleet.seed);
  std::int64_t window = static_cast<std::int64_t>(options.fleet.probe_window);
  std::int64_t services = static_cast<std::int64_t>(options.fleet.services_per_node);
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
    latency.mistake("high_ms", "is below low_ms", "give the larger one here");
  if (!listen.empty())
    if (const Status parsed = parse_listen(listen, options); !parsed)
      root.mistake("listen", parsed.error().what, parsed.error().mend);
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
  for (const ServerModel& server : synthetic_fleet(options.nodes, options.fleet.seed)) {
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
      fleet_(synthetic_fleet(options.nodes, options.fleet.seed), options.fleet, clock.mono()),
      connected_(options.nodes, false) {}

Swarm::~Swarm() = default;

Status Swarm::connect(const SwarmOptions& options) {
  WATTLE_TRY(const transport::ServerKeys server_keys, transport::load_server_keys(options.server_key));
  const MonoTime now = clock_.mono();
  nodes_.resize(fleet_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const ServerModel& server = fleet_.server(i);
    auto key = transport::KeyPair::load(key_file(options, server.name));
    if (!key) {
      Error error = std::move(key.error());
      if (error.code == Errc::not_found)
        error.mend = "make it with: wattle-sim swarm --make-keys ALLOW_FILE, or wattle keys new";
      return tl::unexpected<Error>(std::move(error));
    }
    transport::ClientOptions to;
    to.endpoint = options.endpoint;
    to.key = std::move(*key);
    to.server_key = server_keys.current;
    to.next_server_key = server_keys.next;
    WATTLE_TRY(auto client, transport::Client::connect(context_, to));
    Node& node = nodes_[i];
    node.outbox = std::make_unique<transport::MemoryOutbox>(options.outbox_records);
    node.session = std::make_unique<transport::AgentSession>(std::move(client), *node.outbox,
                                                             hello_of(server, options, incarnation_), clock_, log_,
                                                             options.fleet.seed * 1'000'003 + i);
    // Spread over the tick, so that a thousand nodes do not speak at once.
    node.due = now + tick_ * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(nodes_.size());
  }
  return {};
}

Result<std::unique_ptr<Swarm>> Swarm::start(const SwarmOptions& options, const Clock& clock, const Log& log) {
  if (options.nodes == 0) return fail(Errc::out_of_range, "nodes", "is 0", "give at least one");
  std::unique_ptr<Swarm> swarm(new Swarm(options, clock, log));
  for (const LatencyShift& shift : options.fleet.shifts)
    if (!swarm->fleet_.index_of(shift.node))
      return fail(Errc::not_found, "latency.shifts: " + shift.node, "no such simulated node",
                  "they are named " + swarm->fleet_.server(0).name + " and so on");
  WATTLE_CHECK(swarm->connect(options));
  http::ServerOptions server;
  server.address = options.listen_address;
  server.port = options.listen_port;
  server.threads = 2;
  server.max_body_bytes = 64 << 10;
  WATTLE_TRY(swarm->server_, http::Server::start(server, swarm->routes(), log));
  return swarm;
}

std::map<std::string, http::Handler> Swarm::routes() {
  std::map<std::string, http::Handler> routes;
  routes["GET /livez"] = [](const http::Request&) { return http::Response{200, "text/plain", "ok\n"}; };
  routes["GET /pods"] = [this](const http::Request&) {
    const std::lock_guard lock(mutex_);
    return http::Response{200, "application/json", pods_json(fleet_)};
  };
  routes["GET /nodes"] = [this](const http::Request&) {
    const std::lock_guard lock(mutex_);
    return http::Response{200, "application/json", nodes_json(fleet_, clock_.mono(), incarnation_, connected_)};
  };
  routes["POST /pods"] = [this](const http::Request& request) { return on_bind(request); };
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
  return {201, "application/json", nlohmann::json{{"uid", pod->uid}, {"node", pod->node}}.dump()};
}

http::Response Swarm::on_unbind(const http::Request& request) {
  const std::string uid = request.path.substr(std::min(kPods.size(), request.path.size()));
  const std::lock_guard lock(mutex_);
  auto placement = fleet_.unbind(uid, clock_.mono());
  if (!placement) return answer_error(placement.error());
  reports_.push_back(std::move(*placement));
  return {200, "application/json", nlohmann::json{{"uid", uid}, {"gone", true}}.dump()};
}

void Swarm::pump(std::chrono::milliseconds timeout, int fd) {
  sockets_.clear();
  // A session may rebuild its socket, so the addresses are taken anew.
  for (const Node& node : nodes_) sockets_.push_back(&node.session->socket());
  const int fds[] = {fd};
  transport::poll(sockets_, std::span<const int>(fds, fd >= 0 ? 1 : 0), timeout);

  const MonoTime now = clock_.mono();
  std::vector<wire::Placement> reports;
  std::vector<std::pair<std::size_t, Record>> records;
  {
    const std::lock_guard lock(mutex_);
    for (wire::Placement& gone : fleet_.expire(now)) reports_.push_back(std::move(gone));
    reports.swap(reports_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (now < nodes_[i].due) continue;
      // After a pause the missed ticks are left out, not made up for.
      const auto behind = (now - nodes_[i].due) / tick_;
      nodes_[i].due += tick_ * (behind + 1);
      records.emplace_back(i, fleet_.sample(i, now));
    }
  }
  for (auto& [i, record] : records) {
    record.incarnation = incarnation_;
    record.wall_ns = to_ns(clock_.wall());
    nodes_[i].unacked.emplace_back(record.seq, now);
    if (nodes_[i].unacked.size() > outbox_records_) nodes_[i].unacked.pop_front();
    if (const Status pushed = nodes_[i].outbox->push(std::move(record)); !pushed)
      log_.warn("record lost", {{"node", fleet_.server(i).name}, {"error", pushed.error()}});
    ++samples_;
  }
  for (wire::Placement& report : reports) {
    report.wall_ns = to_ns(clock_.wall());
    if (const auto i = fleet_.index_of(report.node)) nodes_[*i].session->report(std::move(report));
    ++placements_;
  }
  for (Node& node : nodes_) node.session->pump();
  note_acks();
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) connected_[i] = nodes_[i].session->status().welcomed;
}

void Swarm::note_acks() {
  const MonoTime now = clock_.mono();
  for (Node& node : nodes_) {
    const std::uint64_t acked = node.session->status().acked_seq;
    while (!node.unacked.empty() && node.unacked.front().first <= acked) {
      ack_delays_s_.push_back(seconds(now - node.unacked.front().second));
      node.unacked.pop_front();
    }
  }
  while (ack_delays_s_.size() > kAckDelays) ack_delays_s_.pop_front();
}

std::optional<double> Swarm::ack_delay_s(double share) const {
  if (ack_delays_s_.empty()) return std::nullopt;
  std::vector<double> delays(ack_delays_s_.begin(), ack_delays_s_.end());
  const auto rank = delays.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(delays.size() - 1));
  std::nth_element(delays.begin(), rank, delays.end());
  return *rank;
}

SwarmStatus Swarm::status() const {
  SwarmStatus status;
  status.nodes = nodes_.size();
  status.samples = samples_;
  status.placements = placements_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const transport::SessionStatus& session = nodes_[i].session->status();
    status.dropped += nodes_[i].outbox->dropped();
    if (session.welcomed)
      ++status.welcomed;
    else if (status.problem.empty() && !session.problem.empty())
      status.problem = fleet_.server(i).name + ": " + session.problem;
  }
  const std::lock_guard lock(mutex_);
  status.pods = fleet_.pods();
  return status;
}

}  // namespace wattle::sim::live
