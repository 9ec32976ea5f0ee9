// energy_reading: the reading of one domain by one energy source over one interval; the interface between the sources
// and the meter that chooses among them (agent/collect/energy.hpp).
// Units    uJ
// Absent   energy_uj: no reading over this interval (the first, a failed one, the one after it, a counter that
//          restarted)
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/result.hpp"

namespace wattle::agent {

// psys: the platform, which includes packages and DRAM. core and uncore are parts of the package; dram is not.
enum class EnergyKind : std::uint8_t { package, core, uncore, dram, psys, other };

// Why a counter's difference is not energy; the source finds the first two, because it knows the counter's range.
// `uncounted`: the hardware has the domain, but its counter cannot be read or has no range.
enum class EnergyFault : std::uint8_t { none, backwards, jump, still, disagrees, uncounted };

struct DomainEnergy {
  std::string label;  // "package-0", "dram-0", "psys"
  EnergyKind kind = EnergyKind::other;
  std::optional<unsigned> socket;  // physical_package_id
  std::optional<std::uint64_t> energy_uj;
  bool gap = false;                       // energy_uj is a lower bound
  EnergyFault fault = EnergyFault::none;  // if set, energy_uj is unset

  bool operator==(const DomainEnergy&) const = default;
};

// All domains of the source, in the same order at each read.
using EnergyReadings = std::vector<DomainEnergy>;
using CollectErrors = std::vector<std::pair<std::string, Error>>;

}  // namespace wattle::agent
