// expression: an operator's own reward: valid terms, refusals with reasons, and old experience under a new formula.
#include "placement/worth/expression.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "placement/worth/features.hpp"
#include "placement/worth/reward.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

Formula formula(const std::string& text) {
  auto made = Formula::compile(text);
  REQUIRE_MESSAGE(made.has_value(), made.error().message());
  return *made;
}

Error refused(const std::string& text) {
  const auto made = Formula::compile(text);
  REQUIRE(!made.has_value());
  return made.error();
}

RawOutcome outcome() {
  RawOutcome raw;
  std::vector<WorkerBefore> workers(4);
  workers[0].pods = 10;
  workers[1].pods = 5;
  raw.before = summed(workers, 0);
  raw.expected_marginal_w = 30;
  raw.marginal_w = 20;  // (30 - 20) W x 1 h / 20 W = 0.5
  raw.latency_ms = 60;
  raw.latency_soft_ms = 40;
  raw.latency_hard_ms = 80;  // half way: 0.5
  raw.cpu_some_ratio = 0.25;
  return raw;
}

}  // namespace

TEST_CASE("a formula is computed from its terms, in their order") {
  const Formula sum = formula("energy + 10 * latency - 100 * failure");
  FormulaValues values{};
  values[0] = 2;
  values[1] = 0.5;
  values[6] = -0.25;
  CHECK(sum(values) == doctest::Approx(2 + 5 + 25));
  CHECK(formula("failure < 0 ? -7 : energy")(values) == -7);
}

TEST_CASE("an unknown term is named together with the known ones") {
  const Error error = refused("energy + 2 * latancy");
  CHECK(error.what == "'latancy' is not a term");
  CHECK(error.fix.find("latency") != std::string::npos);
  CHECK(error.code == Errc::malformed);
}

TEST_CASE("an invalid formula is refused with the reason") {
  CHECK(refused("").what == "is empty");
  CHECK(refused(std::string(2000, '1')).code == Errc::out_of_range);
  CHECK(refused("3 + 4").what == "contains no term, so all placements would be equal");
  CHECK(refused("energy = 3").what == "contains an assignment at 8");
  CHECK(refused("energy, latency").what == "returns several values");
  CHECK(refused("energy + \"text\"").what == "contains an invalid character at 10");
  CHECK(refused("energy +").code == Errc::malformed);
  CHECK(refused("(energy").code == Errc::malformed);
  CHECK(Formula::compile("energy == 1 || energy <= 0 || energy != latency").has_value());
}

TEST_CASE("a formula that can be undefined within the range of its terms is refused with the term") {
  CHECK(refused("1 / energy").what == "is not a number if every term is 0");
  CHECK(refused("sqrt(latency)").what.find("if latency is -1") != std::string::npos);
  CHECK(refused("1 / (packing - 1)").what.find("if packing is 1") != std::string::npos);
}

TEST_CASE("a value is clamped to the limit, and an undefined one is 0") {
  FormulaValues values{};
  values[0] = 10;
  CHECK(formula("energy ^ 9")(values) == kFormulaLimit);
  CHECK(formula("-energy ^ 9")(values) == -kFormulaLimit);
  values[0] = NAN;
  CHECK(formula("energy")(values) == 0);
  CHECK(Formula()(values) == 0);
}

TEST_CASE("formulas are equal if their texts are, and copies share one") {
  CHECK(formula("energy") == formula("energy"));
  CHECK(!(formula("energy") == formula("latency")));
  CHECK(!(formula("energy") == Formula()));
  const Formula one = formula("energy");
  const Formula copy = one;
  CHECK(copy == one);
}

TEST_CASE("one formula may be evaluated from several threads at once") {
  const Formula shared = formula("energy * 2 + latency");
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (std::size_t i = 0; i < right.size(); ++i)
    threads.emplace_back([&shared, &right, i] {
      bool all = true;
      for (int n = 0; n < 2000; ++n) {
        FormulaValues values{};
        values[0] = static_cast<double>(i);
        values[1] = n % 2;
        all = all && shared(values) == 2.0 * static_cast<double>(i) + n % 2;
      }
      right[i] = all;
    });
  for (std::thread& thread : threads) thread.join();
  for (const bool each : right) CHECK(each);
}

TEST_CASE("an outcome is judged by the formula on its unweighted terms") {
  RewardConfig config;
  config.preset = Preset::expression;
  config.weights.energy = 50;  // weights belong to another preset
  config.formula = formula("4 * energy + latency + contention");
  const Reward reward = evaluate(config, outcome());
  CHECK(reward.value == doctest::Approx(4 * 0.5 + 0.5 - 0.25));
  CHECK(reward.terms.at("energy") == doctest::Approx(0.5));
  CHECK(reward.terms.at("latency") == doctest::Approx(0.5));
  CHECK(reward.terms.at("contention") == doctest::Approx(-0.25));
  RawOutcome failed = outcome();
  failed.failed = true;
  CHECK(evaluate(config, failed).end_of_episode);
}

TEST_CASE("the prior is the formula on predicted terms, and old observations are rejudged by it") {
  const ClusterView view = testing::random_view(5, 3);
  const PodSpec pod = testing::small_pod();
  RewardConfig plain, squared;
  squared.preset = Preset::expression;
  squared.formula = formula("3 * energy + 0.5 * latency");
  plain.weights.energy = 3;
  plain.weights.latency = 0.5;
  const std::vector<std::string_view> open(3);
  models::Observation by_weights = observe(view, pod, open, plain);
  const models::Observation by_formula = observe(view, pod, open, squared);
  for (std::size_t row = 0; row < 3; ++row)
    CHECK(static_cast<double>(by_formula.prior[row]) ==
          doctest::Approx(static_cast<double>(by_weights.prior[row])).epsilon(1e-5));
  models::Observation old = observe(view, pod, open, RewardConfig{});
  relabel(old, squared);
  for (std::size_t row = 0; row < 3; ++row)
    CHECK(static_cast<double>(old.prior[row]) ==
          doctest::Approx(static_cast<double>(by_formula.prior[row])).epsilon(1e-4));
}

}  // namespace wattle::placement
