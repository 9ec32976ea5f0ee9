#include "shim/board.hpp"

#include <algorithm>
#include <utility>

namespace wattle::shim {

std::string_view to_string(BoardState state) {
  switch (state) {
    case BoardState::none:
      return "no_board";
    case BoardState::stale:
      return "board_stale";
    case BoardState::neutral:
      return "board_neutral";
    case BoardState::fresh:
      return "board_fresh";
  }
  return "no_board";
}

void BoardKeeper::receive(wire::Board board, MonoTime now) {
  const std::lock_guard lock(mutex_);
  if (board_ && board_->epoch == board.epoch && board.seq <= board_->seq) return;
  board_ = std::move(board);
  received_ = now;
}

BoardState BoardKeeper::state_of(MonoTime now) const {
  if (!board_) return BoardState::none;
  if (std::chrono::duration<double, std::milli>(now - received_).count() > board_->ttl_ms) return BoardState::stale;
  return board_->neutral || board_->classes.empty() ? BoardState::neutral : BoardState::fresh;
}

BoardState BoardKeeper::state(MonoTime now) const {
  const std::lock_guard lock(mutex_);
  return state_of(now);
}

std::optional<std::vector<std::int64_t>> BoardKeeper::scores(const wire::Ask& ask, MonoTime now) const {
  const std::lock_guard lock(mutex_);
  if (state_of(now) != BoardState::fresh) return std::nullopt;
  const wire::BoardClass* fitting = &board_->classes.back();
  for (const auto& one : board_->classes) {
    if (ask.cpu_request_cores > one.cpu_request_cores) continue;
    fitting = &one;
    break;
  }
  std::vector<std::int64_t> scores;
  scores.reserve(ask.candidates.size());
  for (const auto& node : ask.candidates) {
    const auto found = fitting->scores.find(node);
    scores.push_back(found == fitting->scores.end() ? 0 : std::clamp<std::int64_t>(found->second, 0, 10));
  }
  return scores;
}

std::optional<Duration> BoardKeeper::age(MonoTime now) const {
  const std::lock_guard lock(mutex_);
  if (!board_) return std::nullopt;
  return now - received_;
}

}  // namespace wattle::shim
