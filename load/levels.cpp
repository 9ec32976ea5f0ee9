#include "load/levels.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::load {

std::vector<Stressor> stressors_of(const Levels& levels, Duration length, const std::string& folder,
                                   std::uint16_t port) {
  std::vector<Stressor> out;
  const auto add = [&](Resource resource, double level, std::vector<std::string> words) {
    const auto length_s = static_cast<long long>(std::ceil(seconds(length)));
    words.insert(words.end(), {"--timeout", std::to_string(length_s), "--temp-path", folder, "--quiet"});
    out.push_back({resource, level, std::move(words)});
  };
  if (levels.cpu_cores) {
    // Avoids --cpu-load, which keeps a share of the time that it gets; next to other processes this is less than the
    // level.
    const long workers = std::max(1L, std::lround(std::ceil(*levels.cpu_cores)));
    add(Resource::cpu, *levels.cpu_cores, {"--cpu", std::to_string(workers), "--cpu-method", "int64"});
  }
  // --vm-hang 0 writes the memory once and holds it.
  if (levels.memory_bytes)
    add(Resource::memory, *levels.memory_bytes,
        {"--vm", "1", "--vm-bytes", std::to_string(std::llround(*levels.memory_bytes)), "--vm-hang", "0", "--vm-method",
         "write64"});
  // dsync: each write is on the storage before the next, so a paused process writes nothing more.
  if (levels.disk_bytes_per_s)
    add(Resource::disk, *levels.disk_bytes_per_s,
        {"--hdd", "1", "--hdd-bytes", "64M", "--hdd-write-size", "64K", "--hdd-opts", "wr-seq,dsync"});
  if (levels.network_bytes_per_s)
    add(Resource::network, *levels.network_bytes_per_s, {"--sock", "1", "--sock-port", std::to_string(port)});
  return out;
}

}  // namespace wattle::load
