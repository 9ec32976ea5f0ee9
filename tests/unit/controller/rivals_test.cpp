// Whether a ranking is worse than those it could have been, from models and from what became of pods.
#include "controller/modes/rivals.hpp"

#include <doctest/doctest.h>

#include <random>

#include "controller/decisions/q_error.hpp"

using namespace wattle;
using namespace wattle::controller;

namespace {

// The ranking in force chooses a, the rivals b; models think a worse by `gap`.
RivalSample differing(std::uint64_t id, double gap, double noise = 0) {
  return {id, {"a", -gap + noise}, {RankedChoice{"b", 0}, RankedChoice{"b", 0}}, {}, 0, 0};
}
RivalSample alike(std::uint64_t id) { return {id, {"a", 1}, {RankedChoice{"a", 1}, RankedChoice{"a", 1}}, {}, 0, 0}; }

}  // namespace

TEST_CASE("a ranking that chooses as its rivals do is not worse than they are") {
  Rivals rivals;
  CHECK(rivals.harm().empty());
  for (std::uint64_t id = 0; id < 100; ++id) rivals.add(alike(id));
  CHECK(rivals.harm().empty());
  CHECK(rivals.estimates()[0].samples == 100);
  CHECK(rivals.estimates()[0].differ == 0);
}

TEST_CASE("a ranking whose choices models think worse is refused, and the reason names rival, size and basis") {
  Rivals rivals;
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.1);
  for (std::uint64_t id = 0; id < Rivals::kLeastSamples - 1; ++id) rivals.add(differing(id, 0.2, noise(random)));
  CHECK(rivals.harm().empty());  // too few to say
  rivals.add(differing(99, 0.2, noise(random)));
  const std::string why = rivals.harm();
  CHECK(why.find("worse than planner by 0.") == 0);
  CHECK(why.find("; worse than amortised by") != std::string::npos);
  CHECK(why.find("models alone") != std::string::npos);
  CHECK(why.find("30 would have gone elsewhere") != std::string::npos);
  rivals.begin_anew();
  CHECK(rivals.harm().empty());
}

TEST_CASE("a difference that is within its error is no reason") {
  Rivals rivals;
  for (std::uint64_t id = 0; id < 60; ++id) rivals.add(differing(id, 0.05, id % 2 == 0 ? 2 : -2));
  CHECK(rivals.harm().empty());
}

TEST_CASE("outcomes outweigh models once there are enough on both sides") {
  Rivals rivals;
  std::uint64_t id = 0;
  for (; id < 100; ++id) rivals.add(differing(id, 0.2));
  CHECK_FALSE(rivals.harm().empty());
  // Pods that went to a were worth 1 more than predicted, those on b as predicted; on c they tell nothing.
  for (std::uint64_t at = 0; at < 25; ++at) rivals.judged(at, "a", 0.8);
  CHECK_FALSE(rivals.harm().empty());  // no word of b yet
  for (std::uint64_t at = 25; at < 50; ++at) rivals.judged(at, "b", 0);
  for (std::uint64_t at = 50; at < 75; ++at) rivals.judged(at, "c", -50);
  rivals.judged(12345, "a", -50);  // not a sample
  CHECK(rivals.harm().empty());
  const RivalEstimate one = rivals.estimates()[0];
  CHECK(one.matched_own == 25);
  CHECK(one.matched_rival == 25);
  CHECK(one.difference == doctest::Approx(0.8));
}

TEST_CASE("what is kept is bounded") {
  Rivals rivals;
  for (std::uint64_t id = 0; id < 2 * Rivals::kKept; ++id) rivals.add(alike(id));
  CHECK(rivals.estimates()[1].samples == Rivals::kKept);
}

TEST_CASE("the uncertainty of Q is what rewards were away from it, a node's own once it has enough") {
  QError errors;
  for (int i = 0; i < 19; ++i) errors.add("a", i % 2 == 0 ? 1.0 : -1.0);
  CHECK_FALSE(errors.of("b").has_value());
  CHECK(errors.of("a").value() == doctest::Approx(1.0).epsilon(0.05));
  errors.add("c", 1);
  CHECK(errors.of("b").value() == doctest::Approx(1.0).epsilon(0.05));
  for (int i = 0; i < 10; ++i) errors.add("b", 3);
  CHECK(errors.of("b").value() == doctest::Approx(0));
  errors.add("b", std::nan(""));
  CHECK(errors.of("b").value() == doctest::Approx(0));
  errors.clear();
  CHECK_FALSE(errors.of("a").has_value());
}
