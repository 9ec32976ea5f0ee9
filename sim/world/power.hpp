// power: the power model of a simulated server, and fleets of such servers.
// Source   synthetic families drawn from a seed (steep first step, concave, then convex: the shape that most measured
//          servers have), or server_power_curves.csv under --trace DIR (cores,memory_gb,watts_0,...,watts_100)
// Units    cores, bytes, watts, joules, seconds; utilisation 0..1
// Errors   load_servers: not_found, malformed with file and line
// Threads  values, pure functions
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "sim/cluster/machine.hpp"

namespace wattle::sim {

using cluster::kWattPoints;

struct ServerModel {
  std::string name;
  double cores = 16;
  double memory_bytes = 64.0 * 1024 * 1024 * 1024;
  cluster::Watts watts{};  // at 0, 10, ..., 100 % utilisation
  double sleep_w = 3;
  double wake_time_s = 30;  // draws wake_energy_j / wake_time_s while it wakes
  double wake_energy_j = 3000;

  double watts_at(double utilisation) const { return cluster::watts_at(watts, utilisation); }
  double max_w() const { return watts.back(); }
};

// Converts to the kernel's type. The caller sets how pods affect each other.
cluster::Machine machine_of(const ServerModel& server);

// Returns n servers, named sim-00.., each from one of the families. The same seed gives the same servers.
std::vector<ServerModel> synthetic_fleet(std::size_t n, std::uint64_t seed);

// Parses all rows of a table of measured servers. Accepts watts that fall with load, because they were measured.
Result<std::vector<ServerModel>> parse_servers(std::string_view csv, const std::string& file);
Result<std::vector<ServerModel>> load_servers(const std::string& trace_dir);

// Draws n of them without repetition (with repetition if there are fewer than n), renamed sim-00..
Result<std::vector<ServerModel>> draw_fleet(const std::vector<ServerModel>& servers, std::size_t n, std::uint64_t seed);

}  // namespace wattle::sim
