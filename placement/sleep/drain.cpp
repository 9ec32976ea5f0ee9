#include "placement/sleep/drain.hpp"

#include <algorithm>

namespace wattle::placement::sleep {

Drain::Pod* Drain::find(std::string_view pod) {
  const auto found = std::find_if(pods_.begin(), pods_.end(), [&](const Pod& each) { return each.move.pod == pod; });
  return found == pods_.end() ? nullptr : &*found;
}

std::vector<Move> Drain::next(std::size_t pods, WallTime now, const MoveLimits& limits, SleepLedger& ledger) {
  auto in_flight = static_cast<std::size_t>(
      std::count_if(pods_.begin(), pods_.end(), [](const Pod& each) { return each.state == State::evicted; }));
  std::size_t left = ledger.moves_left(pods, now, limits);
  std::vector<Move> evict;
  for (Pod& pod : pods_) {
    if (in_flight >= limits.at_once || left == 0 || stopped(now, limits)) break;
    if (pod.state != State::waits || ledger.rests(pod.move.pod, pod.move.owner, now, limits)) continue;
    pod.state = State::evicted;
    pod.evicted = now;
    ledger.moved(pod.move.pod, pod.move.owner, now);
    evict.push_back(pod.move);
    ++in_flight;
    --left;
  }
  return evict;
}

void Drain::refused(std::string_view pod, SleepLedger& ledger) {
  Pod* refused = find(pod);
  if (refused == nullptr || refused->state != State::evicted) return;
  refused->state = State::waits;
  ledger.did_not_move(pod);
}

void Drain::landed(std::string_view owner, std::string_view node) {
  const auto of_owner = [&](const Pod& each) { return each.state == State::evicted && each.move.owner == owner; };
  // Replicas of one owner are interchangeable: one that landed on the target of another is in the right place.
  auto found = std::find_if(pods_.begin(), pods_.end(),
                            [&](const Pod& each) { return of_owner(each) && each.move.target == node; });
  if (found == pods_.end()) {
    found = std::find_if(pods_.begin(), pods_.end(), of_owner);
    if (found == pods_.end()) return;
    ++misplaced_;
  }
  found->state = State::landed;
}

void Drain::ended(std::string_view pod) {
  Pod* ended = find(pod);
  if (ended != nullptr && ended->state == State::waits) ended->state = State::ended;
}

void Drain::arrived(std::string_view name) {
  if (arrived_.empty()) arrived_ = name;
}

bool Drain::done() const {
  return std::all_of(pods_.begin(), pods_.end(),
                     [](const Pod& each) { return each.state == State::landed || each.state == State::ended; });
}

std::vector<Move> Drain::reserved() const {
  std::vector<Move> moves;
  for (const Pod& pod : pods_)
    if (pod.state == State::waits || pod.state == State::evicted) moves.push_back(pod.move);
  return moves;
}

std::optional<std::string> Drain::stopped(WallTime now, const MoveLimits& limits) const {
  if (!arrived_.empty()) return "pod " + arrived_ + " came to the node";
  if (misplaced_ >= limits.misplacements)
    return std::to_string(misplaced_) + " pods were bound to other nodes than planned";
  for (const Pod& pod : pods_)
    if (pod.state == State::evicted && now - pod.evicted >= limits.landing)
      return "pod " + pod.move.name + " has not started elsewhere in time";
  return std::nullopt;
}

}  // namespace wattle::placement::sleep
