// sleep_config: how deeply the agent may put its node to sleep, from the section `power` of its configuration.
// Threads  values
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/clock.hpp"

namespace wattle::agent {

enum class SleepDepth : std::uint8_t { suspend, off };
// Names on the wire and in the configuration.
inline constexpr std::array<std::string_view, 2> kSleepDepthNames{"suspend", "off"};
inline std::string_view to_string(SleepDepth depth) { return kSleepDepthNames[static_cast<std::size_t>(depth)]; }
inline std::optional<SleepDepth> parse_sleep_depth(std::string_view name) {
  const auto found = std::ranges::find(kSleepDepthNames, name);
  if (found == kSleepDepthNames.end()) return std::nullopt;
  return static_cast<SleepDepth>(found - kSleepDepthNames.begin());
}

// Name of the depth without a sleep, in which the node runs with the lowest energy settings (shallow_depth.hpp): on the
// wire, in the configuration, and as a feature in Hello.
inline constexpr std::string_view kShallow = "shallow";
inline constexpr Duration kMaxShallowTick = std::chrono::seconds(5);

struct SleepConfig {
  bool sleep = false;  // the agent may put the node to sleep when its controller orders it
  std::vector<SleepDepth> depths{SleepDepth::suspend, SleepDepth::off};
  bool shallow = false;  // the list has kShallow
  bool allows(SleepDepth depth) const { return sleep && std::ranges::find(depths, depth) != depths.end(); }
  bool allows_shallow() const { return sleep && shallow; }
};

}  // namespace wattle::agent
