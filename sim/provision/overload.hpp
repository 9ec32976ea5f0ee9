// overload: for some minutes more is asked than a node can serve, or a limit is far below the use from the beginning; how many
// minutes later the target is kept again.
// Units    minutes of the judged trace
// Errors   what a world's write refuses
// Threads  pure
#pragma once

#include <optional>

#include "sim/provision/world.hpp"

namespace wattle::sim::provision {

struct Overload {
  std::size_t begin_minute = 20, minutes = 5;
  double times = 1.2;           // of the requests that all cores of a service's node can serve
  double starved_cores = 0.05;  // limit at the beginning, of the second kind

  std::size_t end_minute() const { return begin_minute + minutes; }
};

inline constexpr std::uint64_t kKeptMinutes = 5;  // in a row, none of them over: it is back

// The trace of `world` is longer than that.
WorldOptions overloaded(WorldOptions world, const Overload& overload);
// Judged from the beginning.
WorldOptions starved(WorldOptions world, const Overload& overload);

// From the end of the overload, 0 where there is none, to the first of kKeptMinutes that are kept; absent: not within the trace.
Result<std::optional<std::uint64_t>> minutes_until_kept(World world, Provisioner& provisioner, std::size_t end_minute);

}  // namespace wattle::sim::provision
