#include "controller/decisions/repeats.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace wattle;
using namespace wattle::controller;
using namespace std::chrono_literals;

namespace {

wire::Ask ask_of(const std::string& uid, std::vector<std::string> candidates) {
  wire::Ask ask;
  ask.pod_uid = uid;
  ask.candidates = std::move(candidates);
  return ask;
}

wire::Suggestion scored(std::vector<std::int64_t> scores) {
  wire::Suggestion suggestion;
  suggestion.scores = std::move(scores);
  return suggestion;
}

const MonoTime kBegin{};

}  // namespace

TEST_CASE("the same pod with the same candidates gets the same answer, in any order of candidates") {
  Repeats repeats;
  repeats.keep("p", {"a", "b"}, scored({10, 3}), kBegin);
  CHECK(repeats.find(ask_of("p", {"a", "b"}), 2s, kBegin + 1s)->scores == std::vector<std::int64_t>{10, 3});
  CHECK(repeats.find(ask_of("p", {"b", "a"}), 2s, kBegin + 1s)->scores == std::vector<std::int64_t>{3, 10});
  CHECK_FALSE(repeats.find(ask_of("p", {"a", "c"}), 2s, kBegin + 1s));
  CHECK_FALSE(repeats.find(ask_of("p", {"a"}), 2s, kBegin + 1s));
  CHECK_FALSE(repeats.find(ask_of("q", {"a", "b"}), 2s, kBegin + 1s));
  CHECK_FALSE(repeats.find(ask_of("p", {"a", "b"}), 2s, kBegin + 3s));
}

TEST_CASE("a newer answer for a pod replaces the older one and its expiry") {
  Repeats repeats;
  repeats.keep("p", {"a"}, scored({1}), kBegin);
  repeats.keep("p", {"a", "b"}, scored({2, 3}), kBegin + 1s);
  repeats.expire(2s, kBegin + 2500ms);
  CHECK(repeats.find(ask_of("p", {"a", "b"}), 2s, kBegin + 2500ms));
  CHECK(repeats.candidates() == 2);
  repeats.expire(2s, kBegin + 4s);
  CHECK(repeats.candidates() == 0);
  repeats.keep("p", {"a"}, scored({1}), kBegin + 4s);
  repeats.forget("p");
  CHECK(repeats.candidates() == 0);
  CHECK_FALSE(repeats.find(ask_of("p", {"a"}), 2s, kBegin + 4s));
}

TEST_CASE("the number of kept candidates is bounded, and the oldest are dropped first") {
  Repeats repeats;
  const std::vector<std::string> many(8192, "node");
  for (int i = 0; i < 1000; ++i) {
    repeats.keep("p" + std::to_string(i), many, scored({}), kBegin);
    CHECK(repeats.candidates() <= Repeats::kMaxCandidates);
  }
  CHECK_FALSE(repeats.find(ask_of("p0", many), 2s, kBegin));
  CHECK(repeats.find(ask_of("p999", many), 2s, kBegin));
}
