#include "shim/board.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using wattle::MonoTime;
using wattle::shim::BoardKeeper;
using wattle::shim::BoardState;
using wattle::wire::Ask;
using wattle::wire::Board;

namespace {

Board two_classes(std::uint64_t epoch = 1, std::uint64_t seq = 1) {
  Board board;
  board.epoch = epoch;
  board.seq = seq;
  board.ttl_ms = 1000;
  board.neutral = false;
  board.classes = {{0.5, {{"a", 10}, {"b", 3}}}, {2.0, {{"a", 1}, {"b", 10}}}};
  return board;
}

Ask pod(double cpu_cores) {
  Ask ask;
  ask.cpu_request_cores = cpu_cores;
  ask.candidates = {"b", "a", "unknown", "b"};
  return ask;
}

using Scores = std::vector<std::int64_t>;
const MonoTime kStart{};

}  // namespace

TEST_CASE("a pod gets the scores of its class and an unknown node 0") {
  BoardKeeper board;
  board.receive(two_classes(), kStart);
  CHECK(board.scores(pod(0.1), kStart) == Scores{3, 10, 0, 3});
  CHECK(board.scores(pod(0.5), kStart) == Scores{3, 10, 0, 3});
  CHECK(board.scores(pod(0.51), kStart) == Scores{10, 1, 0, 10});
  CHECK(board.scores(pod(64), kStart) == Scores{10, 1, 0, 10});
}

TEST_CASE("a board holds for its time from receipt") {
  BoardKeeper board;
  CHECK(board.state(kStart) == BoardState::none);
  CHECK_FALSE(board.age(kStart));
  board.receive(two_classes(), kStart);
  CHECK(board.state(kStart + 1s) == BoardState::fresh);
  CHECK(board.state(kStart + 1001ms) == BoardState::stale);
  CHECK_FALSE(board.scores(pod(1), kStart + 1001ms));
  board.receive(two_classes(1, 2), kStart + 2s);
  CHECK(board.state(kStart + 2s) == BoardState::fresh);
}

TEST_CASE("a neutral or empty board scores nothing") {
  BoardKeeper board;
  auto neutral = two_classes();
  neutral.neutral = true;
  board.receive(neutral, kStart);
  CHECK(board.state(kStart) == BoardState::neutral);
  CHECK_FALSE(board.scores(pod(1), kStart));
  auto empty = two_classes(1, 2);
  empty.classes.clear();
  board.receive(empty, kStart);
  CHECK(board.state(kStart) == BoardState::neutral);
}

TEST_CASE("an older board of the same controller start is dropped, a new start is taken") {
  BoardKeeper board;
  board.receive(two_classes(1, 5), kStart);
  board.receive(two_classes(1, 4), kStart + 1s);
  CHECK(board.age(kStart + 1s) == 1s);
  board.receive(two_classes(2, 1), kStart + 1s);
  CHECK(board.age(kStart + 1s) == 0s);
}

TEST_CASE("scores beyond 0..10 are held within") {
  BoardKeeper board;
  auto wild = two_classes();
  wild.classes[0].scores = {{"a", 1000}, {"b", -5}};
  board.receive(wild, kStart);
  CHECK(board.scores(pod(0.1), kStart) == Scores{0, 10, 0, 0});
}
