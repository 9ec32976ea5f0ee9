// energy_reading: what one source of energy told of one of its domains over one interval; the seam between the sources
// and the meter that chooses among them (agent/collect/energy.hpp).
// Units    uJ
// Absent   energy_uj: no reading over this interval (the first, a failed one, the one after it, a counter begun anew)
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/result.hpp"

namespace wattle::agent {

// psys: the platform, of which packages and DRAM are parts. core and uncore are parts of the package; dram is not.
enum class EnergyKind : std::uint8_t { package, core, uncore, dram, psys, other };

// Why a counter's difference is no energy; the first two are found by the source, which knows the counter's range.
enum class EnergyFault : std::uint8_t { none, backwards, jump, still, disagrees };

struct DomainEnergy {
  std::string label;  // "package-0", "dram-0", "psys"
  EnergyKind kind = EnergyKind::other;
  std::optional<unsigned> socket;  // physical_package_id
  std::optional<std::uint64_t> energy_uj;
  bool gap = false;                       // energy_uj is a lower bound
  EnergyFault fault = EnergyFault::none;  // then energy_uj is absent

  bool operator==(const DomainEnergy&) const = default;
};

// Every domain that the source has, at each read, in the same order.
using EnergyReadings = std::vector<DomainEnergy>;
using CollectErrors = std::vector<std::pair<std::string, Error>>;

}  // namespace wattle::agent
