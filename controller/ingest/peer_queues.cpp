#include "controller/ingest/peer_queues.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace wattle::controller {
namespace {

constexpr double kMemory_s = 10;
constexpr double kForgotten_s = 1e-6;

std::size_t cost(const transport::Incoming& message) { return sizeof(PeerQueues::Waiting) + message.bytes.size(); }

double since_the_beginning(MonoTime now) { return static_cast<double>(to_ns(now)) * 1e-9 / kMemory_s; }

double log_of_sum(double a, double b) {
  const double more = std::max(a, b), less = std::min(a, b);
  return std::isinf(less) ? more : more + std::log1p(std::exp(less - more));
}

}  // namespace

bool PeerQueues::Turn::operator<(const Turn& other) const {
  return std::tie(used, since, who->name, who->role) <
         std::tie(other.used, other.since, other.who->name, other.who->role);
}

bool PeerQueues::push(transport::Incoming&& message, MonoTime now, Sort sort) {
  auto& [who, peer] = *peers_.try_emplace(message.identity).first;
  if (sort == Sort::live && replace_live(peer, std::move(message))) return true;
  const std::size_t bytes = cost(message);
  const std::size_t free = limits_.all_bytes - std::min(limits_.all_bytes, bytes_);
  const std::size_t most = std::min(limits_.bytes, free / 4);
  if (!peer.waiting.empty() && (peer.waiting.size() >= limits_.messages || peer.bytes + bytes > most)) return false;
  peer.waiting.push_back({std::move(message), now, sort});
  count_in(peer, peer.waiting.back());
  if (!peer.turn) queue_up(who, peer);
  return true;
}

bool PeerQueues::replace_live(Peer& peer, transport::Incoming&& message) {
  const auto older = std::find_if(peer.waiting.begin(), peer.waiting.end(), [&](const Waiting& waiting) {
    return waiting.sort == Sort::live && waiting.message.route == message.route;
  });
  if (older == peer.waiting.end()) return false;
  count_out(peer, *older);
  older->message = std::move(message);
  count_in(peer, *older);
  return true;
}

bool PeerQueues::waits(const transport::Identity& who) const {
  const auto found = peers_.find(who);
  return found != peers_.end() && !found->second.waiting.empty();
}

bool PeerQueues::holds_placement(const transport::Identity& who) const {
  const auto found = peers_.find(who);
  return found != peers_.end() && found->second.placements > 0;
}

// Call after every change of a value that determines the peer's position. `who` is its key in the map.
void PeerQueues::queue_up(const transport::Identity& who, Peer& peer) {
  if (peer.turn) order_.erase(*peer.turn);
  peer.turn.reset();
  if (!peer.waiting.empty()) peer.turn = order_.insert({peer.used, peer.waiting.front().since, &who, &peer}).first;
}

void PeerQueues::count_in(Peer& peer, const Waiting& waiting) {
  peer.bytes += cost(waiting.message);
  bytes_ += cost(waiting.message);
  ++messages_;
  if (waiting.sort == Sort::placement) ++peer.placements;
}

void PeerQueues::count_out(Peer& peer, const Waiting& waiting) {
  peer.bytes -= cost(waiting.message);
  bytes_ -= cost(waiting.message);
  --messages_;
  if (waiting.sort == Sort::placement) --peer.placements;
}

std::set<PeerQueues::Turn>::iterator PeerQueues::first(MonoTime now, Duration tolerance) const {
  return std::find_if(order_.begin(), order_.end(),
                      [&](const Turn& turn) { return turn.peer->paid_at - now <= tolerance; });
}

std::optional<PeerQueues::Waiting> PeerQueues::next(MonoTime now, Duration tolerance) {
  const auto turn = first(now, tolerance);
  if (turn == order_.end()) return std::nullopt;
  const transport::Identity& who = *turn->who;
  Peer& peer = *turn->peer;
  Waiting waiting = std::move(peer.waiting.front());
  peer.waiting.pop_front();
  count_out(peer, waiting);
  queue_up(who, peer);
  return waiting;
}

void PeerQueues::put_back(Waiting&& waiting) {
  auto& [who, peer] = *peers_.try_emplace(waiting.message.identity).first;
  peer.waiting.push_front(std::move(waiting));
  count_in(peer, peer.waiting.front());
  queue_up(who, peer);
}

void PeerQueues::pause(const transport::Identity& who, MonoTime until) {
  Peer& peer = peers_[who];
  peer.paid_at = std::max(peer.paid_at, until + limits_.tolerance);
}

void PeerQueues::charge(const transport::Identity& charged, Duration used, MonoTime now) {
  auto& [who, peer] = *peers_.try_emplace(charged).first;
  const auto paid = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds(used) / limits_.share));
  peer.paid_at = std::min(std::max(peer.paid_at, now) + paid, now + limits_.most_owed);
  if (used > Duration{0}) peer.used = log_of_sum(peer.used, std::log(seconds(used)) + since_the_beginning(now));
  queue_up(who, peer);
}

std::size_t PeerQueues::drop(const transport::Identity& who, const std::string& route) {
  const auto found = peers_.find(who);
  if (found == peers_.end()) return 0;
  Peer& peer = found->second;
  const std::size_t dropped = std::erase_if(peer.waiting, [&](const Waiting& waiting) {
    if (waiting.message.route != route) return false;
    count_out(peer, waiting);
    return true;
  });
  queue_up(found->first, peer);
  return dropped;
}

void PeerQueues::expire(MonoTime now) {
  const double least = since_the_beginning(now) + std::log(kForgotten_s);
  std::erase_if(peers_, [&](const auto& item) {
    const Peer& peer = item.second;
    return peer.waiting.empty() && peer.paid_at <= now && peer.used < least;
  });
}

}  // namespace wattle::controller
