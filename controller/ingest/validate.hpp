// validate: what a record may say. Finite numbers are the decoder's business, sensible ones ours.
// Rules    no negative number; watts up to 20 kW; used cores up to the node's cores (5% more is rounding and cut to them,
//          short intervals up to half more are cut too); ratios 0..1, up to 5% more is cut
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
inline constexpr double kMaxBytesPerS = 1e13;  // of all links, or all disks, of a node

// Cuts what is rounding, refuses what is wrong.
Status validate(Record& record);

// The time that records of one incarnation have measured, against the time that passed on their node meanwhile: else an hour's
// energy could be told a thousand times a second.
class MeasuredTime {
 public:
  // out_of_range: they measured a minute more than passed. In the order of their numbers.
  Status add(const Record& record);

 private:
  std::optional<std::int64_t> began_ns_;
  std::int64_t last_ns_ = 0, measured_ns_ = 0;
};

}  // namespace wattle::controller
