#include "shim/board.hpp"

#include <algorithm>
#include <utility>

namespace wattle::shim {

namespace {
constexpr double kLongestWindow_s = 3600;
}  // namespace

std::string_view to_string(BoardState state) {
  constexpr std::string_view kNames[] = {"no_board", "board_stale", "board_neutral", "board_fresh"};
  return kNames[static_cast<std::size_t>(state)];
}

bool BoardScores::all_capped() const {
  return capped > 0 && std::all_of(scores.begin(), scores.end(), [](std::int64_t score) { return score == 0; });
}

void BoardKeeper::receive(wire::Board board, MonoTime now) {
  const std::lock_guard lock(mutex_);
  const bool same_start = board_ && board_->epoch == board.epoch;
  if (same_start && board.seq <= board_->seq) return;
  if (!same_start)
    advised_.clear();  // decision ids of another controller; starts still count until their window is
                       // over
  given_.expire(now);
  std::erase_if(advised_, [&](const Advised& one) {
    const bool known = one.decision_id <= board.last_decision;
    if (known) given_.drop(one.key, one.until);
    return known || one.until <= now;
  });
  board_ = std::move(board);
  received_ = now;
}

BoardState BoardKeeper::state_of(MonoTime now) const {
  if (!board_) return BoardState::none;
  if (std::chrono::duration<double, std::milli>(now - received_).count() > board_->ttl_ms) return BoardState::stale;
  return board_->neutral || board_->classes.empty() ? BoardState::neutral : BoardState::fresh;
}

void BoardKeeper::stop() {
  const std::lock_guard lock(mutex_);
  if (board_) board_->neutral = true;
}

BoardState BoardKeeper::state(MonoTime now) const {
  const std::lock_guard lock(mutex_);
  return state_of(now);
}

const wire::BoardClass& BoardKeeper::class_of(double cpu_request_cores) const {
  for (const auto& one : board_->classes)
    if (!(cpu_request_cores > one.cpu_request_cores)) return one;
  return board_->classes.back();
}

std::optional<BoardScores> BoardKeeper::take(const wire::Ask& ask, MonoTime now) {
  const std::lock_guard lock(mutex_);
  if (state_of(now) != BoardState::fresh) return std::nullopt;
  const auto& standing = class_of(ask.cpu_request_cores).scores;
  BoardScores answer;
  answer.scores.reserve(ask.candidates.size());
  for (const auto& node : ask.candidates) {
    const auto found = standing.find(node);
    answer.scores.push_back(found == standing.end() ? 0 : std::clamp<std::int64_t>(found->second, 0, 10));
  }
  if (board_->start_window_ms > 0) cap(ask, answer, now);
  return answer;
}

std::vector<std::string> BoardKeeper::best(double cpu_request_cores, std::size_t most, MonoTime now) const {
  const std::lock_guard lock(mutex_);
  if (state_of(now) != BoardState::fresh) return {};
  std::vector<std::pair<std::int64_t, std::string_view>> ranked;
  for (const auto& [node, score] : class_of(cpu_request_cores).scores) {
    const auto left = board_->starts_left.find(node);
    const bool capped =
        board_->start_window_ms > 0 && (left == board_->starts_left.end() || given_.count(node) >= left->second);
    if (score > 0 && !capped) ranked.emplace_back(-score, node);
  }
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > most) ranked.resize(most);
  std::vector<std::string> names;
  names.reserve(ranked.size());
  for (const auto& one : ranked) names.emplace_back(one.second);
  return names;
}

void BoardKeeper::cap(const wire::Ask& ask, BoardScores& answer, MonoTime now) {
  given_.expire(now);
  given_.drop(ask.pod_uid);  // another ask for the pod means that it has not started
  std::optional<std::size_t> best;
  std::uint64_t best_left = 0;
  for (std::size_t i = 0; i < answer.scores.size(); ++i) {
    std::int64_t& score = answer.scores[i];
    if (score == 0) continue;
    const std::string& node = ask.candidates[i];
    const auto reported = board_->starts_left.find(node);
    const std::uint64_t most = reported == board_->starts_left.end() ? 0 : reported->second;
    const std::uint64_t given = given_.count(node);
    if (given >= most) {
      score = 0;
      ++answer.capped;
      continue;
    }
    const bool better =
        !best || score > answer.scores[*best] || (score == answer.scores[*best] && most - given > best_left);
    if (!better) continue;
    best = i;
    best_left = most - given;
  }
  if (!best) return;
  const std::string& node = ask.candidates[*best];
  for (std::size_t i = 0; i < answer.scores.size(); ++i)
    if (ask.candidates[i] == node) answer.scores[i] = 10;
  hold(key_of(ask.pod_uid), node, now);
}

void BoardKeeper::given(const std::string& pod_uid, const std::string& node, std::uint64_t decision_id, MonoTime now) {
  const std::lock_guard lock(mutex_);
  given_.expire(now);
  while (!advised_.empty() && advised_.front().until <= now) advised_.pop_front();
  const std::string key = key_of(pod_uid);
  advised_.push_back({decision_id, key, hold(key, node, now)});
}

// A pod without a UID counts again at each ask.
std::string BoardKeeper::key_of(const std::string& pod_uid) {
  return pod_uid.empty() ? "#" + std::to_string(++nameless_) : pod_uid;
}

MonoTime BoardKeeper::hold(const std::string& key, const std::string& node, MonoTime now) {
  const double reported_s = board_ ? board_->start_window_ms / 1000 : 0;
  const MonoTime until =
      now + (reported_s > 0 ? from_seconds(std::min(reported_s, kLongestWindow_s)) : StartCap{}.window);
  given_.hold(key, node, until);
  return until;
}

std::optional<Duration> BoardKeeper::age(MonoTime now) const {
  const std::lock_guard lock(mutex_);
  if (!board_) return std::nullopt;
  return now - received_;
}

}  // namespace wattle::shim
