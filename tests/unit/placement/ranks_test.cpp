// Ranks equal those by counting, for few and for many values.
#include "placement/worth/ranks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <random>

namespace wattle::placement {
namespace {

// Reference by definition: the mean rank of equal values, as floats.
float counted(const std::vector<double>& values, std::size_t i) {
  double below = 0, alike = 0;
  for (const double value : values) {
    below += static_cast<float>(value) < static_cast<float>(values[i]) ? 1 : 0;
    alike += static_cast<float>(value) == static_cast<float>(values[i]) ? 1 : 0;
  }
  return static_cast<float>((below + (alike - 1) / 2) / static_cast<double>(values.size() - 1));
}

}  // namespace

TEST_CASE("ranks equal those by counting, with shared ties, for any number of values") {
  CHECK(rc::check([](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::size_t count = 2 + random() % 600;
    std::normal_distribution<double> normal(0, 50);
    std::vector<double> values(count);
    for (double& value : values) {
      value = normal(random);
      if (random() % 3 == 0) value = static_cast<double>(random() % 5) - 2;           // equal
      if (random() % 3 == 0) value = 7 + 1e-7 * static_cast<double>(random() % 300);  // nearly equal
    }
    const std::vector<float> ranks = mean_ranks(values);
    RC_ASSERT(ranks.size() == count);
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT(ranks[i] == counted(values, i));
  }));
}

TEST_CASE("negative zero equals zero, and fewer than two values have no rank") {
  CHECK(mean_ranks(std::vector<double>{0.0, -0.0, 1.0}) == std::vector<float>{0.25F, 0.25F, 1.0F});
  CHECK(mean_ranks(std::vector<double>(300, 7.0)) == std::vector<float>(300, 0.5F));
  CHECK(mean_ranks(std::vector<double>{3.0}) == std::vector<float>{0.0F});
  CHECK(mean_ranks({}).empty());
}

}  // namespace wattle::placement
