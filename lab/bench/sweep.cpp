#include "lab/bench/sweep.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>

#include "common/json/value.hpp"
#include "sim/world/world.hpp"

namespace wattle::sim {

namespace {

const ServerModel& server_of(const SweepOptions& options, const std::string& name) {
  const auto found = std::find_if(options.servers.begin(), options.servers.end(),
                                  [&](const ServerModel& each) { return each.name == name; });
  assert(found != options.servers.end());
  return *found;
}

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

}  // namespace

std::vector<SweepCell> sweep_cells(const SweepOptions& options) {
  std::vector<SweepCell> cells;
  for (const ServerModel& server : options.servers)
    for (const double level : options.levels) cells.push_back({server.name, level});
  return cells;
}

std::string run_cell(const SweepOptions& options, const SweepCell& cell) {
  const ServerModel& server = server_of(options, cell.server);
  WorldOptions world_options;
  world_options.seed = options.seed;
  NodeSpec node;
  node.server = server;
  node.latency_ms = 1;
  world_options.nodes.push_back(node);
  UserOptions& users = world_options.users;
  users.count = std::round(cell.level * server.cores * (users.think_s + users.work_core_s) / users.work_core_s);
  World world(world_options);
  if (users.count > 0) {
    SimPod pod;
    pod.spec.uid = "service";
    pod.serves_users = true;
    pod.life_s = std::numeric_limits<double>::infinity();
    const Status placed = world.place(pod, 0, 1, {});
    assert(placed);
    static_cast<void>(placed);
  }
  world.advance_to(options.settle_s);
  const WorldFigures before = world.figures();
  world.advance_to(options.settle_s + options.measure_s);
  const WorldFigures after = world.figures();
  const double requests = after.requests - before.requests;
  SortedJson line = {{"server", cell.server},
                     {"level", cell.level},
                     {"cores", server.cores},
                     {"users", users.count},
                     {"power_w", rounded((after.energy_j - before.energy_j) / options.measure_s)},
                     {"requests_per_s", rounded(requests / options.measure_s)},
                     {"utilisation", rounded((after.utilisation_s - before.utilisation_s) / options.measure_s)}};
  line["response_ms"] =
      requests > 0 ? SortedJson(rounded(1000 * (after.response_s - before.response_s) / requests)) : nullptr;
  line["joules_per_request"] =
      requests > 0 ? SortedJson(rounded((after.energy_j - before.energy_j) / requests)) : nullptr;
  return line.dump() + "\n";
}

Result<Finished> finished_cells(std::string_view text, const SweepOptions& options) {
  std::set<SweepCell> wanted;
  for (SweepCell& each : sweep_cells(options)) wanted.insert(std::move(each));
  Finished finished;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    ++number;
    const auto line = SortedJson::read(text.substr(at, end - at), {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
    const auto bad = [&](const char* what) {
      return fail(Errc::malformed, "line " + std::to_string(number), what, "resume only a file of the same sweep");
    };
    if (line.is_discarded() || !line.is_object() || !line.contains("server") || !line["server"].is_string() ||
        !line.contains("level") || !line["level"].is_number())
      return bad("is not a result of a sweep");
    SweepCell cell{line["server"].get<std::string>(), line["level"].get<double>()};
    if (wanted.erase(cell) == 0) return bad("is not a cell of this sweep, or is a duplicate");
    finished.cells.push_back(std::move(cell));
    at = end + 1;
    finished.bytes = at;
  }
  return finished;
}

}  // namespace wattle::sim
