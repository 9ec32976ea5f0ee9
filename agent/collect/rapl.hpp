// rapl: energy from the powercap zones.
// Source   <sys>/class/powercap/*/{name,energy_uj,max_energy_range_uj}
// Gives    one EnergyDomain per (name, socket, die): package, core, uncore, dram, psys; MMIO twins dropped
// Units    uJ
// Errors   open_: not_found (no zone), denied (energy_uj is for root since CVE-2020-8694). A zone whose read fails is
// absent for that
//          interval and the next
// Cost     1 pread per zone;  Threads  single owner
//
// psys contains package, package contains core and uncore, dram stands beside the package.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/collect/kept_file.hpp"
#include "agent/roots.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/sample.hpp"

namespace wattle::agent {

enum class RaplKind : std::uint8_t { package, core, uncore, dram, psys, other };

// What a zone counts: "core" of socket 0, die 1. `parent` stands for the socket where the parent zone has no name.
struct RaplDomain {
  RaplKind kind = RaplKind::other;
  std::string base;  // "package", "core", "psys", or a name that we do not know
  std::optional<unsigned> socket;
  std::optional<unsigned> die;
  std::string parent;

  bool operator==(const RaplDomain&) const = default;
  // "package-0", "package-0-die-1", "dram-0", "psys"
  std::string label() const;
};

// "package-0", "package-0-die-1", "core", "psys"; socket and die of the others come from the package above them.
std::optional<RaplDomain> parse_zone_name(std::string_view name);

// "intel-rapl:0:1" to "intel-rapl:0"; nothing above "intel-rapl:0".
std::string_view parent_zone(std::string_view id);

struct ZoneSample {
  MonoTime at;
  std::uint64_t energy_uj = 0;
};

struct ZoneEnergy {
  std::uint64_t energy_uj = 0;
  bool gap = false;  // more than one wrap was possible: a lower bound

  bool operator==(const ZoneEnergy&) const = default;
};

// Corrects one wrap at the zone's own range. Absent when a reading is beyond the range, time did not pass, or it would
// be more than `max_power_w` gives: the counter began anew.
std::optional<ZoneEnergy> delta_energy(const ZoneSample& prev, const ZoneSample& now, std::uint64_t max_energy_uj,
                                       double max_power_w);

// All of a machine's energy, nothing twice: psys where it holds the packages, else packages and dram. Absent when a
// zone that belongs to the sum is.
struct RaplTotal {
  std::uint64_t energy_uj = 0;
  bool gap = false;
};

struct RaplReading {
  std::vector<EnergyDomain> domains;                          // over the interval; empty at the first read
  std::optional<RaplTotal> total;                             // over the interval
  std::vector<std::pair<std::string, std::uint64_t>> raw_uj;  // label, counter
};

class Rapl {
 public:
  static Result<Rapl> open_(const Roots& roots);
  void read(RaplReading& out, const Clock& clock, std::span<char> scratch,
            std::vector<std::pair<std::string, Error>>& errors);
  std::size_t zone_count() const { return zones_.size(); }

 private:
  struct Zone {
    Dir dir;
    RaplDomain domain;
    std::string label;
    std::uint64_t max_energy_uj = 0;
    KeptFile energy{"energy_uj"};
    std::optional<ZoneSample> prev;
    std::optional<ZoneEnergy> delta;
  };
  explicit Rapl(std::vector<Zone> zones) : zones_(std::move(zones)) {}
  std::optional<RaplTotal> total() const;

  std::vector<Zone> zones_;
};

}  // namespace wattle::agent
