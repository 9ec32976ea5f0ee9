// validate: checks the values of a record. The decoder ensures that numbers are finite; this checks that they are
// plausible.
// Rules    no negative number; watts up to 20 kW; used cores up to the node's cores (5% more is rounding and is cut to
//          them, and up to half more in short intervals); ratios 0..1, up to 5% more is cut
// Errors   out_of_range; the subject is the field's path, as in the decoder's errors
// Threads  pure functions
#pragma once

#include <cstdint>
#include <optional>

#include "common/result.hpp"
#include "common/sample.hpp"

namespace wattle::controller {

inline constexpr double kMaxNodeW = 20'000;
inline constexpr double kMaxCores = 8192;
inline constexpr double kMaxBytesPerS = 1e13;  // over all links, or all disks, of a node

// Cuts rounding errors, and refuses wrong values.
Status validate(Record& record);

// Compares the time that the records of one incarnation measured with the time that passed on their node. Without this
// check a peer could report an hour's energy a thousand times a second.
class MeasuredTime {
 public:
  // out_of_range if the records measured over a minute more than passed. Call in the order of their numbers.
  Status add(const Record& record);

 private:
  std::optional<std::int64_t> began_ns_;
  std::int64_t last_ns_ = 0, measured_ns_ = 0;
};

}  // namespace wattle::controller
