#include "lab/judges/overload.hpp"

#include <algorithm>

namespace wattle::sim::provision {

WorldOptions overloaded(WorldOptions world, const Overload& overload) {
  RateTrace trace = *world.trace;
  const auto from = trace.rates_rps.begin() + static_cast<std::ptrdiff_t>(60 * overload.begin_minute);
  std::fill_n(from, 60 * overload.minutes, overload.times * world.cores / world.work_s);
  world.trace = std::make_shared<const RateTrace>(std::move(trace));
  return world;
}

WorldOptions starved(WorldOptions world, const Overload& overload) {
  world.first_cores = overload.starved_cores;
  world.warm_s = 0;
  return world;
}

Result<std::optional<std::uint64_t>> minutes_until_kept(World world, Provisioner& provisioner, std::size_t end_minute) {
  WATTLE_CHECK(play_on(world, provisioner));
  const auto minutes = world.minutes();
  std::uint64_t kept = 0;
  for (std::size_t i = end_minute; i < minutes.size(); ++i) {
    kept = minutes[i].is_over() ? 0 : kept + 1;
    if (kept == kKeptMinutes) return std::optional<std::uint64_t>(i + 1 - kKeptMinutes - end_minute);
  }
  return std::optional<std::uint64_t>();
}

}  // namespace wattle::sim::provision
