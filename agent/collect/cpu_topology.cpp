#include "agent/collect/cpu_topology.hpp"

#include <algorithm>
#include <map>

#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

CpuTopology CpuTopology::read_(const Roots& roots) {
  CpuTopology out;
  const auto dir = Dir::open_(roots.sys + "/devices/system/cpu");
  if (!dir) return out;
  const auto entries = dir->list();
  if (!entries) return out;
  std::map<std::uint64_t, std::uint64_t> ids;  // by CPU
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with("cpu")) continue;
    const auto cpu = parse::u64(std::string_view(entry.name).substr(3));
    if (!cpu || *cpu >= 65'536) continue;
    out.package_of_cpu.resize(std::max<std::size_t>(out.package_of_cpu.size(), *cpu + 1));
    const auto text = dir->read_file(entry.name + "/topology/physical_package_id");
    // -1 if the architecture does not provide it.
    if (const auto id = text ? parse::u64(parse::trim(*text)) : std::nullopt) ids[*cpu] = *id;
  }
  if (ids.empty()) return out;
  std::ranges::fill(out.package_of_cpu, kUnknownPackage);
  out.package_ids.clear();
  for (const auto& [cpu, id] : ids) out.package_ids.push_back(id);
  std::sort(out.package_ids.begin(), out.package_ids.end());
  out.package_ids.erase(std::unique(out.package_ids.begin(), out.package_ids.end()), out.package_ids.end());
  for (const auto& [cpu, id] : ids) {
    const auto at = std::lower_bound(out.package_ids.begin(), out.package_ids.end(), id);
    out.package_of_cpu[cpu] = static_cast<std::uint32_t>(at - out.package_ids.begin());
  }
  return out;
}

}  // namespace wattle::agent
