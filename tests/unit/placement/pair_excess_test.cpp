// pair_excess: which applications slow others, learned from the waiting of pods.
#include "placement/cluster/pair_excess.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wattle::placement {
namespace {

constexpr double kReading_s = 5;
constexpr double kLost = 1.0 / 3;  // of the time of a pod that takes half as long again

// Nodes on which pods of `apps` applications start and end; each disturbs some of the others.
class DisturbedWorld {
 public:
  DisturbedWorld(std::uint64_t seed, AppId apps, double share) : random_(seed), apps_(apps) {
    for (AppId a = 1; a <= apps; ++a)
      for (AppId b = 1; b < a; ++b)
        if (std::uniform_real_distribution<double>(0, 1)(random_) < share) {
          disturb_.insert({a, b});
          disturb_.insert({b, a});
        }
  }
  bool disturb(AppId a, AppId b) const { return disturb_.contains({a, b}); }
  // Runs random groups of applications for `for_s`, with new groups every ten minutes.
  void live(PairExcess& pairs, double for_s, double noise, double everybody = 0) {
    constexpr double kStay_s = 600;
    for (double at_s = 0; at_s < for_s; at_s += kStay_s) {
      for (int node = 0; node < 10; ++node) {
        std::set<AppId> there;
        while (there.size() < 5) there.insert(1 + random_() % apps_);
        const std::vector<AppId> all(there.begin(), there.end());
        for (const AppId app : all) {
          std::vector<AppId> beside;
          std::copy_if(all.begin(), all.end(), std::back_inserter(beside), [&](AppId b) { return b != app; });
          const bool slowed = std::any_of(beside.begin(), beside.end(), [&](AppId b) { return disturb(app, b); });
          for (double s = 0; s < kStay_s; s += kReading_s)
            pairs.observe(
                app, beside,
                std::max(0.0, (slowed ? kLost : everybody) + noise * std::normal_distribution<double>(0, 1)(random_)),
                kReading_s);
        }
      }
    }
  }
  // Mean expectation for the pairs that disturb each other, and for the others.
  std::pair<double, double> expected(const PairExcess& pairs) const {
    double guilty = 0, innocent = 0, guilty_n = 0, innocent_n = 0;
    for (AppId a = 1; a <= apps_; ++a)
      for (AppId b = 1; b <= apps_; ++b) {
        if (a == b) continue;
        (disturb(a, b) ? guilty : innocent) += pairs.expected(a, b);
        (disturb(a, b) ? guilty_n : innocent_n) += 1;
      }
    return {guilty / guilty_n, innocent / innocent_n};
  }

 private:
  std::mt19937_64 random_;
  AppId apps_;
  std::set<std::pair<AppId, AppId>> disturb_;
};

TEST_CASE("pods that do not wait teach nothing, and take no entries") {
  PairExcess pairs;
  const std::vector<AppId> beside{2, 3};
  for (int k = 0; k < 1000; ++k) CHECK(pairs.observe(1, beside, 0.04, kReading_s));
  CHECK(pairs.pairs() == 0);
  CHECK(pairs.expected(1, beside) == 0);
  for (const double bad : {-0.1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK_FALSE(pairs.observe(1, beside, bad, kReading_s));
    CHECK_FALSE(pairs.observe(1, beside, 0.3, bad));
  }
  CHECK_FALSE(pairs.observe(0, beside, 0.3, kReading_s));
  CHECK(pairs.pairs() == 0);
}

TEST_CASE("one reading may be chance; an hour of them counts") {
  PairExcess pairs;
  const std::vector<AppId> beside{2};
  pairs.observe(1, beside, 0.3, kReading_s);
  CHECK(pairs.expected(1, 2) < 0.01);
  pairs.observe(1, {}, 0, kReading_s);  // alone it does not wait
  for (int k = 0; k < 720; ++k) {
    pairs.observe(1, beside, 0.3, kReading_s);
    pairs.observe(1, {}, 0, kReading_s);
  }
  CHECK(pairs.expected(1, 2) == doctest::Approx(0.28).epsilon(0.05));
  CHECK(pairs.expected(2, 1) == 0);  // the other one has no reports
  CHECK(pairs.expected(1, 3) == 0);
}

TEST_CASE("among mixed applications the disturbing ones are blamed, and bystanders are not") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    DisturbedWorld world(seed, 12, 0.2);
    PairExcess pairs;
    world.live(pairs, 12 * 3600, 0.02);
    const auto [guilty, innocent] = world.expected(pairs);
    CHECK(guilty > 0.2);
    CHECK(guilty < kLost + 0.02);
    CHECK(innocent < 0.02);
  }
}

TEST_CASE("an application that waits with any neighbours does not blame them") {
  PairExcess pairs;
  std::mt19937_64 random(5);
  for (int k = 0; k < 5000; ++k) {
    const std::vector<AppId> beside{2 + random() % 8, 10 + random() % 8};
    pairs.observe(1, beside, 0.4, kReading_s);
  }
  double worst = 0;
  for (AppId b = 2; b < 18; ++b) worst = std::max(worst, pairs.expected(1, b));
  CHECK(worst < 0.1);
}

TEST_CASE("a change is learned again") {
  DisturbedWorld before(7, 12, 0.2), after(8, 12, 0.2);
  PairExcess pairs;
  before.live(pairs, 12 * 3600, 0.02);
  after.live(pairs, 12 * 3600, 0.02);
  const auto [guilty, innocent] = after.expected(pairs);
  CHECK(guilty > 0.2);
  CHECK(innocent < 0.03);
}

TEST_CASE("pairs are bounded, and the most recently observed are kept") {
  PairExcess pairs({64});
  for (AppId app = 1; app <= 1000; ++app) {
    const std::vector<AppId> beside{app + 1, app + 2};
    for (int k = 0; k < 200; ++k) pairs.observe(app, beside, 0.3, kReading_s);
    for (int k = 0; k < 50; ++k) pairs.observe(app, {}, 0, kReading_s);
    CHECK(pairs.pairs() <= 64);
  }
  CHECK(pairs.expected(1000, 1001) > 0.1);
  CHECK(pairs.expected(1, 2) == 0);
  // More neighbours than the limit.
  std::vector<AppId> many;
  for (AppId b = 2; b < 500; ++b) many.push_back(b);
  pairs.observe(1, many, 0.3, kReading_s);
  CHECK(pairs.pairs() <= 64);
}

std::string packed(const PairExcess& pairs) {
  PackWriter out;
  pairs.pack(out);
  return out.take();
}

TEST_CASE("a state survives packing; a truncated, duplicate or out-of-range one is refused") {
  DisturbedWorld world(4, 12, 0.3);
  PairExcess pairs;
  world.live(pairs, 3600, 0.02);
  REQUIRE(pairs.pairs() > 10);
  const std::string bytes = packed(pairs);
  PairExcess read;
  PackReader in(bytes);
  read.unpack(in);
  CHECK(in.done());
  CHECK(packed(read) == bytes);
  for (AppId a = 1; a <= 12; ++a)
    for (AppId b = 1; b <= 12; ++b) CHECK(read.expected(a, b) == pairs.expected(a, b));

  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    PackReader cut(std::string_view(bytes).substr(0, size));
    PairExcess kept = pairs;
    kept.unpack(cut);
    CHECK_FALSE(cut.ok());
    CHECK(packed(kept) == bytes);
  }
  const auto refused = [](std::vector<std::array<double, 2>> numbers, AppId app) {
    PackWriter out;
    out.word(numbers.size());
    for (const auto& each : numbers) {
      out.word(app);
      out.word(2);
      out.real(each[0]);
      out.real(each[1]);
    }
    const std::string made = out.take();
    PackReader reader(made);
    PairExcess into;
    into.unpack(reader);
    return !reader.ok() && into.pairs() == 0;
  };
  CHECK_FALSE(refused({{0.3, 0.5}}, 1));
  CHECK(refused({{0.3, 0.5}, {0.3, 0.5}}, 1));
  CHECK(refused({{-0.1, 0.5}}, 1));
  CHECK(refused({{0.95, 0.5}}, 1));
  for (const double blame : {-1.0, 0.0, 1.0}) CHECK(refused({{0.3, blame}}, 1));
  CHECK(refused({{0.3, 0.5}}, 0));
}

TEST_CASE("one guilty neighbour of twenty is found once each of the others has been observed without it") {
  for (const AppId guilty : {AppId{2}, AppId{11}, AppId{21}}) {
    PairExcess pairs;
    std::vector<AppId> all, calm;
    for (AppId b = 2; b <= 21; ++b) {
      all.push_back(b);
      if (b != guilty) calm.push_back(b);
    }
    for (int k = 0; k < 24; ++k) pairs.observe(1, all, kLost, kReading_s);
    CHECK(pairs.expected(1, all) > 0.2);     // one of them is guilty
    CHECK(pairs.expected(1, guilty) < 0.1);  // it is not known which one
    for (int k = 0; k < 24; ++k) pairs.observe(1, calm, 0, kReading_s);
    CHECK(pairs.expected(1, guilty) > 0.28);
    CHECK(pairs.expected(1, calm) == 0);
  }
}

TEST_CASE("the pod that all waiting pods have in common is blamed, although no pod was observed alone") {
  PairExcess pairs;
  pairs.observe(1, {}, 0, 300);  // not slow by itself
  for (int k = 0; k < 6; ++k) {
    const std::vector<AppId> beside{2, AppId(10 + 3 * k), AppId(11 + 3 * k), AppId(12 + 3 * k)};
    for (int reading = 0; reading < 24; ++reading) pairs.observe(1, beside, kLost, kReading_s);
  }
  CHECK(pairs.expected(1, 2) > 0.3);
  for (AppId b = 10; b < 28; ++b) CHECK(pairs.expected(1, b) < 0.06);
}

TEST_CASE("the order of observations does not matter") {
  const std::vector<std::vector<AppId>> slow{{2, 3, 4}, {4, 5, 6}, {2, 6, 7}, {4, 8}, {3, 7, 8}};
  const auto learned = [&](const std::vector<std::size_t>& order) {
    PairExcess pairs;
    pairs.observe(1, {}, 0, 300);
    for (const std::size_t k : order) pairs.observe(1, slow[k], kLost, 120);
    return pairs;
  };
  const PairExcess one = learned({0, 1, 2, 3, 4});
  for (const auto& order : {std::vector<std::size_t>{4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}}) {
    const PairExcess other = learned(order);
    for (AppId b = 2; b <= 8; ++b) CHECK(other.expected(1, b) == doctest::Approx(one.expected(1, b)).epsilon(1e-9));
  }
  CHECK(one.expected(1, 4) > one.expected(1, 5));
}

TEST_CASE("when a few of many applications begin to slow each other, most of the loss is known within minutes") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    DisturbedWorld world(seed, 24, 0.1);
    PairExcess pairs;
    world.live(pairs, 2 * 3600, 0.02);
    const auto [guilty, innocent] = world.expected(pairs);
    CHECK(guilty > 0.25);
    CHECK(innocent < 0.02);
  }
}

std::string packed_again(const std::string& bytes) {
  PairExcess read;
  PackReader in(bytes);
  read.unpack(in);
  return packed(read);
}

TEST_CASE("for any reports, shares and blame stay within bounds, and the packed state is readable") {
  std::mt19937_64 random(3);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  PairExcess pairs({256});
  for (int k = 0; k < 20000; ++k) {
    std::vector<AppId> beside;
    for (std::size_t left = below(90); left > 0; --left) {
      const AppId one = 1 + below(100);
      if (std::find(beside.begin(), beside.end(), one) == beside.end()) beside.push_back(one);
    }
    const double excess = below(3) == 0 ? 0 : std::uniform_real_distribution<double>(0, 2)(random);
    CHECK(pairs.observe(1 + below(12), beside, excess, 1 + static_cast<double>(below(100))));
    const double expected = pairs.expected(1 + below(12), beside);
    REQUIRE(expected >= 0);
    REQUIRE(expected <= kMostExcess);
  }
  CHECK(pairs.pairs() <= 256);
  CHECK(packed_again(packed(pairs)) == packed(pairs));
}

}  // namespace
}  // namespace wattle::placement
