#include "sim/live/swarm.hpp"

#include <algorithm>
#include <utility>

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
  if (options.fleet.sleep_speedup > 0) hello.labels["wattle.dev/sleep"] = "auto";
  hello.cpu_cores = server.cores;
  hello.memory_bytes = static_cast<std::uint64_t>(server.memory_bytes);
  hello.pod_capacity = options.fleet.pods_per_node;
  hello.max_batch = 32;
  hello.findings = {"energy: lost: a simulated node has no counter, its watts are a model's"};
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
    : options_(options),
      clock_(clock),
      log_(log),
      tick_(from_seconds(options.tick_s)),
      epoch_(static_cast<std::uint64_t>(to_ns(clock.wall()))),
      fleet_(servers_of(options), options.fleet, clock.mono()),
      connected_(fleet_.size(), false) {}

Swarm::~Swarm() = default;

Status Swarm::connect() {
  WATTLE_TRY(server_keys_, transport::load_server_keys(options_.server_key));
  const MonoTime now = clock_.mono();
  nodes_.resize(fleet_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    WATTLE_CHECK(begin(i));
    // Spread over the tick, so that a thousand nodes do not send at once.
    nodes_[i].due = now + tick_ * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(nodes_.size());
  }
  return {};
}

// Starts the agent of a node.
Status Swarm::begin(std::size_t i) {
  const ServerModel& server = fleet_.server(i);
  auto key = transport::KeyPair::load(key_file(options_, server.name));
  if (!key) {
    Error error = std::move(key.error());
    if (error.code == Errc::not_found)
      error.fix = "make it with: wattle-sim swarm --make-keys ALLOW_FILE, or wattle keys new";
    return tl::unexpected<Error>(std::move(error));
  }
  transport::ClientOptions to;
  to.endpoint = options_.endpoint;
  to.reconnect_max = transport::kAgentReconnectMax;
  to.key = std::move(*key);
  to.server_key = server_keys_.current;
  to.next_server_key = server_keys_.next;
  WATTLE_TRY(auto client, transport::Client::connect(context_, to));
  const std::uint64_t seed = options_.fleet.seed * 1'000'003 + options_.nodes * (options_.part - 1);
  Node& node = nodes_[i];
  node.incarnation = std::max(node.incarnation + 1, static_cast<std::uint64_t>(to_ns(clock_.wall())));
  node.session.reset();  // before its outbox
  node.outbox = std::make_unique<transport::MemoryOutbox>(options_.outbox_records);
  node.session = std::make_unique<transport::AgentSession>(
      std::move(client), *node.outbox, hello_of(server, options_, node.incarnation), clock_, log_, seed + i);
  node.talk = {};
  node.unacked.clear();
  return {};
}

// A node that was turned off falls silent; one that has booted starts its agent, with the pods that are still bound.
void Swarm::follow_power(MonoTime now) {
  const std::lock_guard lock(mutex_);
  fleet_.follow(now);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.runs == fleet_.runs(i)) continue;
    if (node.runs) {
      node.session->fall_silent();
    } else if (const Status begun = begin(i); !begun) {
      log_.warn("swarm.not_started", "the agent of a node does not start; the swarm tries again",
                {{"node", fleet_.server(i).name}, {"error", begun.error()}});
      continue;
    } else {
      for (wire::Placement& bound : fleet_.bound_to(i)) reports_.push_back(std::move(bound));
    }
    node.runs = !node.runs;
  }
}

Result<std::unique_ptr<Swarm>> Swarm::start(const SwarmOptions& options, const Clock& clock, const Log& log) {
  if (options.nodes < options.parts)
    return fail(Errc::out_of_range, "nodes", "are fewer than the processes that simulate them",
                "use at least one for each");
  std::unique_ptr<Swarm> swarm(new Swarm(options, clock, log));
  for (const LatencyShift& shift : options.fleet.shifts)
    if (!swarm->fleet_.index_of(shift.node))
      return fail(Errc::not_found, "latency.shifts: " + shift.node, "no such simulated node",
                  "they are named " + swarm->fleet_.server(0).name + " and so on");
  WATTLE_CHECK(swarm->connect());
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
    return http::Response{200, "application/json", nodes_json(fleet_, clock_.mono(), epoch_, connected_)};
  };
  routes["GET /status"] = [this](const http::Request& request) { return on_status(request); };
  routes["POST /power"] = {[this](const http::Request& request) { return on_power(request); }, kMostPodBytes};
  routes["POST /pods"] = {[this](const http::Request& request) { return on_bind(request); }, kMostPodBytes};
  routes["DELETE " + std::string(kPods)] = [this](const http::Request& request) { return on_unbind(request); };
  return routes;
}

http::Response Swarm::on_power(const http::Request& request) {
  const std::lock_guard lock(mutex_);
  return answer_power(fleet_, request.body, clock_.mono());
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
  if (fleet_.can_sleep()) follow_power(now);
  sample(now, busy);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (!busy[i] && now < node.pump_at) continue;
    node.session->pump();
    if (node.runs) node.talk.step(*node.session, now);
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
      if (!nodes_[i].runs || !fleet_.runs(i)) continue;
      records.emplace_back(i, fleet_.sample(i, now));
    }
  }
  for (auto& [i, record] : records) {
    record.incarnation = nodes_[i].incarnation;
    record.wall_ns = to_ns(clock_.wall());
    nodes_[i].unacked.emplace_back(record.seq, now);
    if (nodes_[i].unacked.size() > options_.outbox_records) nodes_[i].unacked.pop_front();
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
