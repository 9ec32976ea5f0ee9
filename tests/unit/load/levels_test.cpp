// levels: levels become arguments of stress-ng, and more than the machine has is refused.
#include "load/levels.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "load/resource.hpp"

using namespace wattle;
using namespace wattle::load;
using namespace std::chrono_literals;

namespace {
std::string behind(const Stressor& stressor, const std::string& word) {
  const auto at = std::find(stressor.words.begin(), stressor.words.end(), word);
  return at == stressor.words.end() || at + 1 == stressor.words.end() ? "" : *(at + 1);
}
}  // namespace

TEST_CASE("each level has its own stress-ng, and only requested ones are started") {
  const auto all = stressors_of(
      {.cpu_cores = 2.5, .memory_bytes = 512e6, .disk_bytes_per_s = 1e7, .network_bytes_per_s = 5e6}, 90s, "/f", 4711);
  REQUIRE(all.size() == 4);
  CHECK(behind(all[0], "--cpu") == "3");
  CHECK(behind(all[1], "--vm-bytes") == "512000000");
  CHECK(behind(all[2], "--hdd") == "1");
  CHECK(behind(all[3], "--sock-port") == "4711");
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].resource == static_cast<Resource>(i));
    CHECK(behind(all[i], "--timeout") == "90");
    CHECK(behind(all[i], "--temp-path") == "/f");
  }
  const auto one = stressors_of({.cpu_cores = 0.2}, 500ms, "/f", 1);
  REQUIRE(one.size() == 1);
  CHECK(behind(one[0], "--cpu") == "1");
  CHECK(behind(one[0], "--timeout") == "1");
  CHECK(Levels{}.none());
}

TEST_CASE("more than the machine has is refused with its capacity") {
  CHECK(check_levels({.cpu_cores = 2, .memory_bytes = 1e9}, 2, 1e9));
  const auto cores = check_levels({.cpu_cores = 2.1}, 2, 1e9);
  REQUIRE_FALSE(cores);
  CHECK(cores.error().code == Errc::out_of_range);
  CHECK(cores.error().message().find("2 cores") != std::string::npos);
  const auto memory = check_levels({.memory_bytes = 2e9}, 2, 1e9);
  REQUIRE_FALSE(memory);
  CHECK(memory.error().message().find("1000 MB") != std::string::npos);
}
