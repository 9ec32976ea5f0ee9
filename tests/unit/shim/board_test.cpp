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

Ask class_pod(double cpu_cores) {
  Ask ask;
  ask.cpu_request_cores = cpu_cores;
  ask.candidates = {"b", "a", "unknown", "b"};
  return ask;
}

using NodeScores = std::vector<std::int64_t>;
const MonoTime kStart{};

}  // namespace

TEST_CASE("a pod gets the scores of its class, and an unknown node 0") {
  BoardKeeper board;
  board.receive(two_classes(), kStart);
  CHECK(board.take(class_pod(0.1), kStart)->scores == NodeScores{3, 10, 0, 3});
  CHECK(board.take(class_pod(0.5), kStart)->scores == NodeScores{3, 10, 0, 3});
  CHECK(board.take(class_pod(0.51), kStart)->scores == NodeScores{10, 1, 0, 10});
  CHECK(board.take(class_pod(64), kStart)->scores == NodeScores{10, 1, 0, 10});
}

TEST_CASE("a board is valid for its time from receipt") {
  BoardKeeper board;
  CHECK(board.state(kStart) == BoardState::none);
  CHECK_FALSE(board.age(kStart));
  board.receive(two_classes(), kStart);
  CHECK(board.state(kStart + 1s) == BoardState::fresh);
  CHECK(board.state(kStart + 1001ms) == BoardState::stale);
  CHECK_FALSE(board.take(class_pod(1), kStart + 1001ms));
  board.receive(two_classes(1, 2), kStart + 2s);
  CHECK(board.state(kStart + 2s) == BoardState::fresh);
}

TEST_CASE("a neutral or empty board scores nothing") {
  BoardKeeper board;
  auto neutral = two_classes();
  neutral.neutral = true;
  board.receive(neutral, kStart);
  CHECK(board.state(kStart) == BoardState::neutral);
  CHECK_FALSE(board.take(class_pod(1), kStart));
  auto empty = two_classes(1, 2);
  empty.classes.clear();
  board.receive(empty, kStart);
  CHECK(board.state(kStart) == BoardState::neutral);
}

TEST_CASE("an older board of the same controller start is dropped, and one of a new start is accepted") {
  BoardKeeper board;
  board.receive(two_classes(1, 5), kStart);
  board.receive(two_classes(1, 4), kStart + 1s);
  CHECK(board.age(kStart + 1s) == 1s);
  board.receive(two_classes(2, 1), kStart + 1s);
  CHECK(board.age(kStart + 1s) == 0s);
}

TEST_CASE("a node at its start cap gets 0 and the best of the others 10; a repeated pod counts once") {
  BoardKeeper board;
  auto capped = two_classes();
  capped.start_window_ms = 10'000;
  capped.starts_left = {{"a", 2}, {"b", 1}};
  board.receive(capped, kStart);
  auto first = class_pod(0.1);
  first.pod_uid = "p1";
  CHECK(board.take(first, kStart)->scores == NodeScores{3, 10, 0, 3});
  CHECK(board.take(first, kStart)->scores == NodeScores{3, 10, 0, 3});
  CHECK(board.take(class_pod(0.1), kStart)->scores == NodeScores{3, 10, 0, 3});
  const auto third = board.take(class_pod(0.1), kStart);
  CHECK(third->scores == NodeScores{10, 0, 0, 10});
  CHECK(third->capped == 1);
  CHECK_FALSE(third->all_capped());
  const auto none = board.take(class_pod(0.1), kStart);
  CHECK(none->scores == NodeScores{0, 0, 0, 0});
  CHECK(none->all_capped());
  CHECK(board.take(first, kStart)->scores == NodeScores{0, 10, 0, 0});  // the pod's own slot is free for it
}

TEST_CASE(
    "the controller's advice counts until a board includes it, after a controller restart until its window ends") {
  BoardKeeper board;
  auto capped = two_classes();
  capped.start_window_ms = 2000;
  capped.last_decision = 4;
  capped.starts_left = {{"a", 1}, {"b", 9}};
  board.receive(capped, kStart);
  board.given("p1", "a", 5, kStart);
  CHECK(board.take(class_pod(0.1), kStart)->scores == NodeScores{10, 0, 0, 10});
  capped.seq = 2;
  capped.last_decision = 5;  // a: one more may start beside p1
  board.receive(capped, kStart);
  CHECK(board.take(class_pod(0.1), kStart)->scores == NodeScores{3, 10, 0, 3});
  board.given("p1", "b", 6, kStart);
  board.given("p1", "a", 8, kStart + 1ms);  // asked again: a board that includes decision 6 does not include it
  capped.seq = 3;
  capped.last_decision = 7;
  capped.starts_left = {{"a", 2}, {"b", 2}};
  board.receive(capped, kStart);
  CHECK(board.take(class_pod(0.1), kStart)->scores == NodeScores{10, 0, 0, 10});
  capped.epoch = 2;
  capped.seq = 1;
  capped.last_decision = 100;
  board.receive(capped, kStart + 1s);
  CHECK(board.take(class_pod(0.1), kStart + 1s)->all_capped());
  capped.seq = 2;
  board.receive(capped, kStart + 2001ms);
  CHECK(board.take(class_pod(0.1), kStart + 2001ms)->scores == NodeScores{3, 10, 0, 3});
}

TEST_CASE("an old controller sends no start caps, and none are kept") {
  BoardKeeper board;
  board.receive(two_classes(), kStart);
  for (int i = 0; i < 100; ++i) CHECK(board.take(class_pod(0.1), kStart)->scores == NodeScores{3, 10, 0, 3});
}

TEST_CASE("scores outside 0..10 are clamped") {
  BoardKeeper board;
  auto wild = two_classes();
  wild.classes[0].scores = {{"a", 1000}, {"b", -5}};
  board.receive(wild, kStart);
  CHECK(board.take(class_pod(0.1), kStart)->scores == NodeScores{0, 10, 0, 0});
}
