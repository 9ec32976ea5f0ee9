// levels: target use of a machine's resources, and the arguments with which stress-ng produces it.
// Units    cores, bytes, bytes/s
// Errors   none
// Threads  pure
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"

namespace wattle::load {

enum class Resource { cpu, memory, disk, network };
inline constexpr std::array<std::string_view, 4> kResourceNames{"cpu", "memory", "disk", "network"};

struct Levels {
  std::optional<double> cpu_cores, memory_bytes, disk_bytes_per_s, network_bytes_per_s;
  bool none() const { return !cpu_cores && !memory_bytes && !disk_bytes_per_s && !network_bytes_per_s; }
};

// Describes a stress-ng process. It keeps the memory level by itself; for other resources it runs at full speed, and we
// pause it (throttle.hpp).
struct Stressor {
  Resource resource = Resource::cpu;
  double level = 0;
  std::vector<std::string> words;  // arguments of stress-ng
};

// Writes into `folder`; listens on loopback at `port`. stress-ng ends by itself after `length` if we do not end it
// earlier.
std::vector<Stressor> stressors_of(const Levels& levels, Duration length, const std::string& folder,
                                   std::uint16_t port);

}  // namespace wattle::load
