#include "agent/power/wake_on_lan.hpp"

#include <algorithm>

#include "common/dir.hpp"

namespace wattle::agent {

std::vector<WakingInterface> read_waking_interfaces(const std::string& sys) {
  std::vector<WakingInterface> found;
  const std::string net = sys + "/class/net";
  const auto dir = Dir::open_(net);
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>();
  if (!entries) return found;
  constexpr std::size_t kMacLength = 17;
  for (const auto& entry : *entries) {
    const auto wakes = read_file(net + "/" + entry.name + "/device/power/wakeup", 64);
    if (!wakes || !wakes->starts_with("enabled")) continue;
    const auto mac = read_file(net + "/" + entry.name + "/address", 64);
    if (mac && mac->size() >= kMacLength) found.push_back({entry.name, mac->substr(0, kMacLength)});
  }
  std::ranges::sort(found, {}, &WakingInterface::name);
  return found;
}

}  // namespace wattle::agent
