// Whether a ranking is worse than those it could have been, from models and from what became of pods.
#include "placement/judge/off_policy.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace wattle;
using namespace wattle::placement;

namespace {

// The ranking in force chooses a, the references b; models think a worse by `gap`.
ComparedDecision differing(std::uint64_t id, double gap, double noise = 0) {
  return {id, {"a", -gap + noise}, {RankedChoice{"b", 0}, RankedChoice{"b", 0}}, {}, 0, 0};
}
ComparedDecision alike(std::uint64_t id) {
  return {id, {"a", 1}, {RankedChoice{"a", 1}, RankedChoice{"a", 1}}, {}, 0, 0};
}

}  // namespace

TEST_CASE("a ranking that chooses as its references do is not worse than they are") {
  OffPolicyComparison references;
  CHECK(references.harm().empty());
  for (std::uint64_t id = 0; id < 100; ++id) references.add(alike(id));
  CHECK(references.harm().empty());
  CHECK(references.estimates()[0].samples == 100);
  CHECK(references.estimates()[0].differ == 0);
}

TEST_CASE("a ranking whose choices models think worse is refused, and the reason names reference, size and basis") {
  OffPolicyComparison references;
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.1);
  for (std::uint64_t id = 0; id < OffPolicyComparison::kLeastSamples - 1; ++id)
    references.add(differing(id, 0.2, noise(random)));
  CHECK(references.harm().empty());  // too few to say
  references.add(differing(99, 0.2, noise(random)));
  const std::string why = references.harm();
  CHECK(why.find("worse than planner by 0.") == 0);
  CHECK(why.find("; worse than amortised by") != std::string::npos);
  CHECK(why.find("models only") != std::string::npos);
  CHECK(why.find("30 differ") != std::string::npos);
  references.begin_anew();
  CHECK(references.harm().empty());
}

TEST_CASE("a difference that is within its error is no reason") {
  OffPolicyComparison references;
  for (std::uint64_t id = 0; id < 60; ++id) references.add(differing(id, 0.05, id % 2 == 0 ? 2 : -2));
  CHECK(references.harm().empty());
}

TEST_CASE("outcomes outweigh models once there are enough on both sides") {
  OffPolicyComparison references;
  std::uint64_t id = 0;
  for (; id < 100; ++id) references.add(differing(id, 0.2));
  CHECK_FALSE(references.harm().empty());
  // Pods that went to a were worth 1 more than predicted, those on b as predicted; on c they tell nothing.
  for (std::uint64_t at = 0; at < 25; ++at) references.judged(at, "a", 0.8);
  CHECK_FALSE(references.harm().empty());  // no word of b yet
  for (std::uint64_t at = 25; at < 50; ++at) references.judged(at, "b", 0);
  for (std::uint64_t at = 50; at < 75; ++at) references.judged(at, "c", -50);
  references.judged(12345, "a", -50);  // not a sample
  CHECK(references.harm().empty());
  const OffPolicyEstimate one = references.estimates()[0];
  CHECK(one.matched_own == 25);
  CHECK(one.matched_reference == 25);
  CHECK(one.difference == doctest::Approx(0.8));
}

TEST_CASE("what is kept is bounded") {
  OffPolicyComparison references;
  for (std::uint64_t id = 0; id < 2 * OffPolicyComparison::kKept; ++id) references.add(alike(id));
  CHECK(references.estimates()[1].samples == OffPolicyComparison::kKept);
}
