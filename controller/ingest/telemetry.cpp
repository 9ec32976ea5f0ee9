#include "controller/ingest/telemetry.hpp"

#include <algorithm>
#include <utility>

#include "common/version.hpp"
#include "common/wire/codec.hpp"
#include "controller/ingest/validate.hpp"

namespace wattle::controller {
namespace {

using std::chrono::seconds;
constexpr Duration kDeadAfter = seconds(5);
constexpr Duration kTakeoverWindow = seconds(60);
constexpr Duration kCutFor = seconds(60);
constexpr std::size_t kMaxTakeovers = 6;
constexpr std::uint64_t kCredit = 256;
constexpr std::uint64_t kMaxBatch = 64;

}  // namespace

std::vector<wire::Message> Telemetry::refuse(const transport::Incoming& from, std::string subject, std::string what,
                                             std::string mend) {
  History& history = history_[from.identity.name];
  ++figures_.refusals;
  if (!std::exchange(history.garbage_told, true)) {
    log_.warn("telemetry peer refused", {{"peer", from.identity.user_id()}, {"subject", subject}, {"what", what}});
  }
  history.cut_route = from.route;
  const auto session = sessions_.find(from.identity.name);
  if (session != sessions_.end() && session->second.route == from.route) end_session(from.identity.name);
  return {wire::Refusal{std::move(subject), std::move(what), std::move(mend)}};
}

std::vector<wire::Message> Telemetry::receive(const transport::Incoming& incoming) {
  auto message = wire::decode(incoming.bytes);
  if (!message) {
    ++figures_.garbage;
    // A newer agent may send kinds that this build does not know; only those may be passed over.
    if (message.error().code == Errc::unsupported) return {};
    const auto history = history_.find(incoming.identity.name);
    if (history != history_.end() && history->second.cut_route == incoming.route) return {};
    return refuse(incoming, message.error().subject, message.error().what, "upgrade the agent, or find who else sends");
  }
  if (incoming.identity.role != transport::Role::agent) {
    ++figures_.garbage;
    return refuse(incoming, incoming.identity.user_id(), "is not an agent's key, and only agents send telemetry",
                  "allow the key with role agent, or connect to the ask endpoint");
  }
  if (const auto* hello = std::get_if<wire::Hello>(&*message)) return on_hello(incoming, *hello);

  const std::string& node = incoming.identity.name;
  const auto found = sessions_.find(node);
  if (found == sessions_.end() || found->second.route != incoming.route) {
    if (history_[node].cut_route == incoming.route) return {};
    const bool other = found != sessions_.end();
    return refuse(incoming, node, other ? "another agent of this node has taken over" : "no session: Hello comes first",
                  other ? "run one agent per node, with one key each" : "send Hello");
  }
  Session& session = found->second;
  session.heard = clock_.mono();
  if (auto* samples = std::get_if<wire::Samples>(&*message)) return on_samples(session, node, *samples);
  if (const auto* ping = std::get_if<wire::Ping>(&*message))
    return {wire::Pong{ping->nonce, ping->mono_ns, to_ns(clock_.mono()), to_ns(clock_.wall())}};
  if (std::holds_alternative<wire::Pong>(*message)) return {};
  if (const auto* placement = std::get_if<wire::Placement>(&*message)) return on_placement(incoming, *placement);
  ++figures_.garbage;
  return refuse(incoming, std::string(to_string(kind_of(*message))), "is not for the telemetry endpoint",
                "send Hello, Samples, Ping, Pong or Placement");
}

bool Telemetry::too_many_takeovers(History& history) {
  const MonoTime now = clock_.mono();
  std::erase_if(history.takeovers, [&](MonoTime when) { return now - when >= kTakeoverWindow; });
  history.takeovers.push_back(now);
  return history.takeovers.size() > kMaxTakeovers;
}

std::vector<wire::Message> Telemetry::on_hello(const transport::Incoming& from, const wire::Hello& hello) {
  const std::string& node = from.identity.name;
  if (hello.node != node)
    return refuse(from, hello.node, "the key is allowed for node " + node,
                  "set `node: " + node + "` on the agent, or allow the key for " + hello.node);
  const std::uint64_t version = std::min(hello.version_max, wire::kVersionMax);
  if (version < std::max(hello.version_min, wire::kVersionMin))
    return refuse(from, node,
                  "speaks wire versions " + std::to_string(hello.version_min) + " to " +
                      std::to_string(hello.version_max) + ", this controller " + std::to_string(wire::kVersionMin) +
                      " to " + std::to_string(wire::kVersionMax),
                  "upgrade the older of the two");
  if (hello.cpu_cores < 0 || hello.cpu_cores > kMaxCores)
    return refuse(from, node, "says it has " + std::to_string(hello.cpu_cores) + " cores", "see `wattle doctor`");
  const MonoTime now = clock_.mono();
  History& history = history_[node];
  if (history.cut_until && now < *history.cut_until)
    return refuse(from, node, "two agents use this node's key and take over from each other",
                  "stop one of them and wait a minute");
  history.cut_until.reset();

  const auto session = sessions_.find(node);
  const bool other = session != sessions_.end() && session->second.route != from.route;
  const bool other_lives = other && now - session->second.heard < kDeadAfter;
  if (other_lives && hello.incarnation < session->second.incarnation)
    return refuse(from, node, "a later incarnation of this agent is connected",
                  "run one agent per node, or stop the other one");
  if (other) ++figures_.takeovers;
  if (other_lives && hello.incarnation == session->second.incarnation && too_many_takeovers(history)) {
    log_.error("two agents with one key take over from each other: both are cut", {{"node", node}});
    history.cut_until = now + kCutFor;
    history.takeovers.clear();
    end_session(node);
    return refuse(from, node, "two agents use this node's key and take over from each other",
                  "stop one of them and wait a minute");
  }
  sessions_[node] = {from.route, hello.incarnation, now};
  history.cut_route.clear();
  history.garbage_told = history.refused_told = false;
  // An agent that lost its state begins lower: the old mark says nothing about its records, but is told so that it knows.
  const Mark held = history.mark.value_or(Mark{});
  if (held.incarnation > hello.incarnation) history.mark.reset();
  sink_.on_hello(hello);
  log_.info("agent welcomed",
            {{"node", node}, {"agent_version", hello.agent_version}, {"incarnation", hello.incarnation}});
  wire::Welcome welcome;
  welcome.version = version;
  welcome.controller_version = kVersion;
  welcome.max_batch = kMaxBatch;
  welcome.max_message_bytes = wire::Limits{}.message_bytes;
  welcome.credit = kCredit;
  welcome.acked_incarnation = held.incarnation;
  welcome.acked_seq = held.seq;
  return {welcome};
}

std::vector<wire::Message> Telemetry::on_samples(Session& session, const std::string& node, wire::Samples& samples) {
  History& history = history_[node];
  if (samples.records.empty()) return {};
  for (Record& record : samples.records) {
    const Mark mark{record.incarnation, record.seq};
    if (history.mark && mark <= *history.mark) {
      ++figures_.duplicates;
      continue;
    }
    if (record.incarnation > session.incarnation) {
      ++figures_.refused;
      continue;
    }
    if (history.mark) {
      const bool same = history.mark->incarnation == record.incarnation;
      figures_.missing += record.seq - 1 - (same ? history.mark->seq : 0);
    }
    history.mark = mark;
    if (const auto valid = validate(record); !valid) {
      ++figures_.refused;
      if (!std::exchange(history.refused_told, true))
        log_.warn("record refused, and more of this node's may be", {{"node", node}, {"error", valid.error()}});
      continue;
    }
    ++figures_.records;
    sink_.on_record(node, record);
  }
  if (!history.mark) return {};
  return {wire::Ack{history.mark->incarnation, history.mark->seq, kCredit}};
}

std::vector<wire::Message> Telemetry::on_placement(const transport::Incoming& from, const wire::Placement& placement) {
  if (placement.node != from.identity.name || placement.pod_uid.empty()) {
    ++figures_.garbage;
    return refuse(from, placement.node, "placements are told by the node's own agent, with the pod's UID",
                  "set `node: " + from.identity.name + "` on the agent");
  }
  sink_.on_placement(placement);
  return {};
}

void Telemetry::end_session(const std::string& node) {
  sessions_.erase(node);
  sink_.on_lost(node);
}

void Telemetry::expire() {
  const MonoTime now = clock_.mono();
  std::vector<std::string> silent;
  for (const auto& [node, session] : sessions_)
    if (now - session.heard >= kDeadAfter) silent.push_back(node);
  for (const std::string& node : silent) {
    log_.warn("agent is silent", {{"node", node}, {"for_s", wattle::seconds(kDeadAfter)}});
    end_session(node);
  }
}

}  // namespace wattle::controller
