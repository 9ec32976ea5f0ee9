#include "sim/world/power.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim {

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

// Ranges from which a family's servers are drawn; idle, step, bend are shares.
struct Family {
  double cores[3];
  double gib_per_core;
  double watts_per_core[2];
  double idle[2];  // of full watts
  double step[2];  // of the dynamic range, spent on the first tenth of the load
  double bend[2];  // of the rest, rising late (turbo, fans)
};

constexpr std::array<Family, 4> kFamilies{{
    {{16, 24, 32}, 4, {7, 12}, {0.20, 0.30}, {0.10, 0.22}, {0.2, 0.6}},     // common two-socket servers
    {{48, 64, 80}, 4, {3.0, 6.5}, {0.15, 0.32}, {0.12, 0.28}, {0.3, 0.8}},  // recent large ones
    {{8, 8, 12}, 4, {9, 22}, {0.40, 0.65}, {0.05, 0.20}, {0.0, 0.3}},       // old, high idle
    {{8, 12, 16}, 2, {4, 9}, {0.12, 0.25}, {0.08, 0.25}, {0.4, 0.9}},       // small and frugal
}};

std::string node_name(std::size_t i, std::size_t n) {
  std::string digits = std::to_string(i);
  const std::size_t width = std::max<std::size_t>(2, std::to_string(n > 0 ? n - 1 : 0).size());
  return "sim-" + std::string(width - std::min(width, digits.size()), '0') + digits;
}

// Sets sleep and wake in proportion to the machine: a twentieth of idle (memory refresh, BMC), half a minute at 70 % of
// full watts.
void give_sleep(ServerModel& server, double wake_time_s) {
  server.sleep_w = std::min(0.05 * server.watts[0] + 1.0, server.watts[0]);
  server.wake_time_s = wake_time_s;
  server.wake_energy_j = wake_time_s * 0.7 * server.max_w();
}

}  // namespace

cluster::Machine machine_of(const ServerModel& server) {
  cluster::Machine machine;
  machine.cores = server.cores;
  machine.watts = server.watts;
  machine.sleep_w = server.sleep_w;
  machine.wake_time_s = server.wake_time_s;
  machine.wake_energy_j = server.wake_energy_j;
  return machine;
}

std::vector<ServerModel> synthetic_fleet(std::size_t n, std::uint64_t seed) {
  Random random(mix(seed, 0x666c656574ULL));
  std::vector<ServerModel> fleet;
  fleet.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Family& family = kFamilies[pick(random, kFamilies.size())];
    ServerModel server;
    server.name = node_name(i, n);
    server.cores = family.cores[pick(random, 3)];
    server.memory_bytes = server.cores * family.gib_per_core * kGiB;
    const double full_w = server.cores * uniform(random, family.watts_per_core[0], family.watts_per_core[1]);
    const double idle = uniform(random, family.idle[0], family.idle[1]);
    const double step = uniform(random, family.step[0], family.step[1]);
    const double bend = uniform(random, family.bend[0], family.bend[1]);
    const double power = uniform(random, 2.5, 4.0);
    const double sharp = uniform(random, 0.04, 0.09);
    for (std::size_t point = 0; point < kWattPoints; ++point) {
      const double u = static_cast<double>(point) / static_cast<double>(kWattPoints - 1);
      const double first = (1 - std::exp(-u / sharp)) / (1 - std::exp(-1 / sharp));
      const double late = (1 - bend) * u + bend * std::pow(u, power);
      server.watts[point] = full_w * (idle + (1 - idle) * (step * first + (1 - step) * late));
    }
    give_sleep(server, uniform(random, 20, 60));
    fleet.push_back(std::move(server));
  }
  return fleet;
}

Result<std::vector<ServerModel>> parse_servers(std::string_view csv, const std::string& file) {
  std::vector<ServerModel> servers;
  std::size_t line_number = 0;
  std::string problem;
  parse::for_each_line(csv, [&](std::string_view line) {
    ++line_number;
    line = parse::trim(line);
    if (line_number == 1 || line.empty() || !problem.empty()) return;
    const auto cells = parse::split(line, ',');
    const auto bad = [&](const std::string& what) { problem = "line " + std::to_string(line_number) + ": " + what; };
    if (cells.size() != 2 + kWattPoints) return bad("has " + std::to_string(cells.size()) + " fields, not 13");
    ServerModel server;
    server.name = "row-" + std::to_string(line_number - 1);
    std::array<double, 2 + kWattPoints> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto number = parse::real(parse::trim(cells[i]));
      if (!number || *number <= 0 || *number > 1e6)
        return bad("field " + std::to_string(i + 1) + " is not a number above 0");
      numbers[i] = *number;
    }
    server.cores = numbers[0];
    server.memory_bytes = numbers[1] * kGiB;
    std::copy(numbers.begin() + 2, numbers.end(), server.watts.begin());
    give_sleep(server, 30);
    servers.push_back(std::move(server));
  });
  const std::string columns = "columns are cores,memory_gb,watts_0,watts_10,...,watts_100";
  if (!problem.empty()) return fail(Errc::malformed, file, problem, columns);
  if (servers.empty()) return fail(Errc::malformed, file, "has no servers", columns);
  return servers;
}

Result<std::vector<ServerModel>> load_servers(const std::string& trace_dir) {
  WATTLE_TRY(auto dir, Dir::open_(trace_dir));
  const std::string name = "server_power_curves.csv";
  WATTLE_TRY(auto text, dir.read_file(name, 16 << 20));
  return parse_servers(text, trace_dir + "/" + name);
}

Result<std::vector<ServerModel>> draw_fleet(const std::vector<ServerModel>& servers, std::size_t n,
                                            std::uint64_t seed) {
  if (servers.empty()) return fail(Errc::not_found, "servers", "there is no server to choose from");
  Random random(mix(seed, 0x64726177ULL));
  std::vector<std::size_t> deck;
  std::vector<ServerModel> fleet;
  for (std::size_t i = 0; i < n; ++i) {
    if (deck.empty()) {
      deck.resize(servers.size());
      std::iota(deck.begin(), deck.end(), std::size_t{0});
    }
    const std::size_t at = pick(random, deck.size());
    fleet.push_back(servers[deck[at]]);
    deck[at] = deck.back();
    deck.pop_back();
    fleet.back().name = node_name(i, n);
  }
  return fleet;
}

}  // namespace wattle::sim
