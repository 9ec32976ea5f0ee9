// overload: measures recovery after some minutes of more load than a node can serve, or from a limit far below the
// usage: the minutes until the target is met again.
// Units    minutes of the judged trace
// Errors   errors of a world's write
// Threads  pure
#pragma once

#include <optional>

#include "sim/provision/world.hpp"

namespace wattle::sim::provision {

struct Overload {
  std::size_t begin_minute = 20, minutes = 5;
  double times = 1.2;           // load as a multiple of the load that all cores of a service's node can serve
  double starved_cores = 0.05;  // initial limit, for the second kind

  std::size_t end_minute() const { return begin_minute + minutes; }
};

inline constexpr std::uint64_t kKeptMinutes = 5;  // consecutive minutes without excess that count as recovery

// Requires a trace longer than the overload.
WorldOptions overloaded(WorldOptions world, const Overload& overload);
// Judged from the beginning.
WorldOptions starved(WorldOptions world, const Overload& overload);

// Minutes from the end of the overload (0 without one) to the first of kKeptMinutes that meet the target; no value if
// not within the trace.
Result<std::optional<std::uint64_t>> minutes_until_kept(World world, Provisioner& provisioner, std::size_t end_minute);

}  // namespace wattle::sim::provision
