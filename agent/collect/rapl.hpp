// rapl: reads energy from the powercap zones.
// Source   <sys>/class/powercap/*/{name,energy_uj,max_energy_range_uj,constraint_N_max_power_uw}
// Gives    one EnergyDomain per (name, socket, die): package, core, uncore, dram, psys; MMIO twins dropped
// Units    uJ
// Errors   open_: not_found (no zone), denied (energy_uj is for root since CVE-2020-8694). After a failed read a zone
//          has no value for that interval and the next. Every kLookAgain, new zones are added and removed ones are
//          dropped. A package, dram or psys whose counter or range is missing is a domain with the fault `uncounted`,
//          so that the other zones are not taken for the whole machine
// Cost     1 pread per zone; a listing per kLookAgain;  Threads  single owner
//
// psys contains package, package contains core and uncore, dram is separate from the package. A second platform zone is
// called psys-1 (drivers/powercap/intel_rapl_common.c, rapl_init_domains). AMD's counter is of the socket, regardless
// of the die that it is read on: kernels that name zones by die show the same counter several times (68 W twice, with
// 125 W at the plug, on a Threadripper 1950X, codecarbon's documentation), and only the first is used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/collect/energy_reading.hpp"
#include "agent/collect/held_file.hpp"
#include "agent/roots.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

// Identifies a zone: "core" of socket 0, die 1. `parent` replaces the socket if the parent zone has no name.
struct RaplDomain {
  EnergyKind kind = EnergyKind::other;
  std::string base;  // "package", "core", "psys", or an unknown name
  std::optional<unsigned> socket;
  std::optional<unsigned> die;
  std::string parent;
  std::string zone;  // id of a zone that has the same name as an earlier one of its control type

  bool operator==(const RaplDomain&) const = default;
  // "package-0", "package-0-die-1", "dram-0", "psys"
  std::string label() const;
};

// Parses "package-0", "package-0-die-1", "core", "psys"; the others take socket and die from the package above them.
std::optional<RaplDomain> parse_zone_name(std::string_view name);

// "intel-rapl:0:1" to "intel-rapl:0"; empty for "intel-rapl:0".
std::string_view parent_zone(std::string_view id);

struct ZoneSample {
  MonoTime at;
  std::uint64_t energy_uj = 0;
};

struct ZoneEnergy {
  std::uint64_t energy_uj = 0;
  bool gap = false;  // more than one wrap was possible: energy is a lower bound

  bool operator==(const ZoneEnergy&) const = default;
};

// Corrects one wrap at the zone's own range. No value if a reading is out of range, no time has passed, or the energy
// exceeds `max_power_w`: the counter restarted.
std::optional<ZoneEnergy> delta_energy(const ZoneSample& prev, const ZoneSample& now, std::uint64_t max_energy_uj,
                                       double max_power_w);

// AMD and Hygon: the energy of every die is that of its socket.
bool dies_show_socket(const Roots& roots);

inline constexpr Duration kLookAgain = std::chrono::seconds(60);

class Rapl {
 public:
  // Opens every counter, so that it can be read after capabilities are dropped.
  static Result<Rapl> open_(const Roots& roots);
  // `raw_uj`: label and counter of the readable zones.
  void read(EnergyReadings& out, std::vector<std::pair<std::string, std::uint64_t>>& raw_uj, const Clock& clock,
            std::span<char> scratch, CollectErrors& errors);
  std::size_t zone_count() const { return zones_.size(); }
  // "package-0, core-0, dram-0"
  std::string zone_labels() const;
  // Returns why the first uncounted zone is not counted.
  const std::optional<Error>& uncounted() const { return uncounted_; }

 private:
  struct Zone {
    std::string id;
    RaplDomain domain;
    std::string label;
    std::uint64_t max_energy_uj = 0;
    double max_power_w = 0;
    std::optional<HeldFile> energy;  // no value: cannot be counted
    std::optional<ZoneSample> prev;
  };
  Rapl(Dir powercap, bool dies_show_socket) : powercap_(std::move(powercap)), dies_show_socket_(dies_show_socket) {}
  // Adds new zones.
  void take_up(const std::vector<std::string>& ids);
  void open_counter(Zone& zone);
  Result<std::vector<std::string>> list() const;
  void look_again(MonoTime now, CollectErrors& errors);

  Dir powercap_;
  bool dies_show_socket_ = false;
  std::vector<Zone> zones_;
  std::vector<std::string> listed_;  // ids at the last look, sorted
  std::optional<MonoTime> looked_at_;
  std::optional<Error> uncounted_;
};

}  // namespace wattle::agent
