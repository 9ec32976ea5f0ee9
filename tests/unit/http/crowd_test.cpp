#include "common/http/crowd.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace wattle::http;

namespace {

const Source kHere{"127.0.0.1", true}, kHostile{"192.0.2.1", false}, kProbe{"192.0.2.7", false},
    kOther{"198.51.100.1", false};
constexpr CrowdBounds kBounds{8, 4};

std::vector<Seat> seats(std::size_t count, const Source& from, Turn turn) {
  std::vector<Seat> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back({&from, turn, 100 - i});  // the last is the oldest
  return all;
}

std::vector<Seat> joined(std::vector<Seat> a, const std::vector<Seat>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("where there is room everybody is let in and nobody has to go") {
  const auto verdict = judge(seats(3, kHostile, Turn::header), kHostile, kBounds);
  CHECK(verdict.admitted);
  CHECK_FALSE(verdict.gives_way);
}

TEST_CASE("one source crowds out itself alone, in the order of what it has said") {
  auto all = joined(seats(1, kProbe, Turn::header), seats(4, kHostile, Turn::idle));
  CHECK(judge(all, kHostile, kBounds).gives_way == 4);  // the oldest of its own, though the other has said less
  all[2].turn = Turn::header;
  CHECK(judge(all, kHostile, kBounds).gives_way == 2);
  for (Seat& seat : all) seat.turn = Turn::work;
  CHECK_FALSE(judge(all, kHostile, kBounds).admitted);
  CHECK(judge(all, kProbe, kBounds).admitted);
}

TEST_CASE("when all is full the oldest without a header goes first, loopback's for loopback alone") {
  const auto all =
      joined(joined(seats(2, kHere, Turn::header), seats(3, kHostile, Turn::header)), seats(3, kOther, Turn::idle));
  CHECK(judge(all, kProbe, kBounds).gives_way == 4);
  CHECK(judge(all, kHere, kBounds).gives_way == 4);
  const auto ours = joined(seats(4, kHere, Turn::header), seats(4, kOther, Turn::work));
  CHECK_FALSE(judge(ours, kProbe, kBounds).admitted);
  CHECK(judge(ours, kHere, kBounds).gives_way == 3);
}

TEST_CASE("who is at work stays, and some connections are kept for loopback") {
  auto all = joined(joined(seats(3, kHostile, Turn::work), seats(3, kOther, Turn::work)), seats(2, kProbe, Turn::work));
  CHECK_FALSE(judge(all, kProbe, kBounds).admitted);
  for (std::size_t i = 0; i < kKeptForLoopback; ++i) {
    const auto verdict = judge(all, kHere, kBounds);
    CHECK(verdict.admitted);
    CHECK_FALSE(verdict.gives_way);
    all.push_back({&kHere, Turn::work, 0});
  }
  CHECK_FALSE(judge(all, kHere, kBounds).admitted);
  all[0].turn = Turn::gone;  // has given way and is not closed yet: counts no more
  CHECK(judge(all, kHere, kBounds).admitted);
  all[1].turn = Turn::answer;  // an answer that nobody reads
  CHECK(judge(all, kProbe, kBounds).gives_way == 1);
}
