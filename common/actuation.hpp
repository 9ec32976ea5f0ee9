// actuation: messages between wattle-agent (orders) and wattle-actuator (reports) on their socket.
// Source   datagrams of AF_UNIX SOCK_SEQPACKET; text, one line per workload:
//              orders 1 HEADROOM [WATTS]
//              LEVEL[:COUNT/OVER][@STEP] PATH
//              report 1 HEADROOM FOREIGN [WATTS [OUT]]
//              LEVEL STATE USED GRANTED FREED HIGH[+LOW/EFFECTIVE] REFILLS[:MINUTE] PATH
//          "status 1" requests a report and changes no order. "off +memory" among the orders: the agent reads the
//          memory and student fields of a minute; older agents reject reports that have them
// Words    COUNT/OVER      requests that the workload answered since the agent started, and how many took too long
//          WATTS           power that one more busy core draws on this node, if the agent knows it
//          STEP            MINUTE/BASE[/MEMORY]: the margins that the controller wants in force after the minute of
//                          that number, as 1 + margin of CPU and of memory
//          :MINUTE         the minute that has just ended: nine numbers, and its requests and memory if known
//                          (actuation.cpp)
//          LOW, EFFECTIVE  memory.low, and the part of it that the ancestors' memory.low permits
//          OUT             number of workloads for which the student failed its trial; left out if zero
//          PATH            the rest of the line
// Units    cores and watts in thousandths; margins, ratios and the cores of :MINUTE in billionths; memory in bytes; "-"
//          is an unknown value
// Errors   malformed, out_of_range; a message is accepted whole or rejected
// Threads  pure
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle::actuation {

inline constexpr std::size_t kMaxMessageBytes = 64 << 10;
inline constexpr std::size_t kMaxWorkloads = 256;
inline constexpr std::size_t kMaxPathBytes = 4096;
// File of the student that the controller sends: the agent writes it, and the actuator reads it.
inline constexpr const char* kStudentFile = "/run/wattle-agent/student.safetensors";

// limits: sets CPU limits and memory.high; protect: sets memory.low and nothing else.
enum class Level : std::uint8_t { off, suggest, limits, protect };
inline constexpr std::array<std::string_view, 4> kLevelNames{"off", "suggest", "limits", "protect"};
// Returns true if the level writes to the workload's cgroup.
constexpr bool writes(Level level) { return level >= Level::limits; }

// unseen: no such cgroup; learning: too few samples; hands_off: another process wrote its limits recently
enum class State : std::uint8_t { unseen, learning, suggested, set, hands_off, trouble };
inline constexpr std::array<std::string_view, 6> kStateNames{"unseen", "learning",  "suggested",
                                                             "set",    "hands_off", "trouble"};

// Requests since a given moment, and how many took longer than their target; over <= count.
struct Requests {
  std::uint64_t count = 0, over = 0;

  bool operator==(const Requests&) const = default;
};

// Margins that the controller wants in force from the end of that minute.
struct MarginStep {
  std::uint64_t minute = 0;
  double margin_ratio = 0;                  // above -1
  std::optional<double> memory_ratio = {};  // unset: the node's own rule decides

  bool operator==(const MarginStep&) const = default;
};

// Memory figures of a minute, for a workload whose memory is managed.
struct MinuteOfMemory {
  std::optional<double> margin_ratio = {};  // margin over the working set at its end; unset: no limit during the minute
  std::uint64_t granted_bytes = 0;          // mean of memory.high, or of memory in use while no limit was set
  std::uint64_t used_bytes = 0;             // largest working set
  double used_over_peak = 1;                // working set at its end, over the largest of ten minutes
  double short_ratio = 0;                   // share of the samples that showed memory pressure

  bool operator==(const MinuteOfMemory&) const = default;
};

// Figures of a minute, for a workload whose limits are set.
struct Minute {
  std::uint64_t number = 0;                        // counts the minutes of this workload since its first limit
  bool steered = false;                            // a MarginStep was in force
  double margin_ratio = 0, rule_margin_ratio = 0;  // at its end; the node's own rule would set rule_margin_ratio next
  double throttled_ratio = 0;
  double used_cores = 0, granted_cores = 0;
  double deviation_ratio = 0, peak_ratio = 1;  // one-second usage over its mean
  std::optional<Requests> requests = {};       // during this minute
  std::optional<MinuteOfMemory> memory = {};   // unset: memory is not managed
  bool student_out = false;                    // a student failed its trial with this workload

  bool operator==(const Minute&) const = default;
};

struct Order {
  std::string path;  // cgroup, relative to its mount
  Level level = Level::suggest;
  std::optional<Requests> requests = {};  // unset: latency unknown
  std::optional<MarginStep> step = {};    // only at level limits

  bool operator==(const Order&) const = default;
};

struct Orders {
  std::optional<double> headroom_cores;  // most that the node may grant
  std::vector<Order> orders;
  std::optional<double> core_power_w = {};  // drawn by one more busy core
  bool memory = false;                      // the sender reads memory and student fields of a minute

  bool operator==(const Orders&) const = default;
};

// memory.low of a workload: in force at level protect, otherwise the value that this level would set.
struct Protection {
  std::int64_t bytes = 0;
  std::int64_t effective_bytes = 0;  // against reclaim of the whole node: at most the least memory.low of its ancestors

  bool operator==(const Protection&) const = default;
};

struct Grant {
  std::string path;
  Level level = Level::suggest;
  State state = State::unseen;
  double used_cores = 0;
  std::optional<double> granted_cores;  // unset: limit unchanged
  std::optional<double> freed_cores;    // difference to a limit that existed before
  std::optional<std::int64_t> high_bytes;
  std::uint64_t refills = 0;          // quota writes; each gives the cgroup a full quota for its current period
  std::optional<Minute> minute = {};  // the last minute, if it ended within a few seconds
  std::optional<Protection> low = {};

  bool operator==(const Grant&) const = default;
};

struct Report {
  std::optional<double> headroom_cores;
  std::uint64_t foreign = 0;  // writes to the limits by other processes
  std::vector<Grant> grants;
  std::optional<double> core_power_w = {};  // last value from the agent
  std::uint64_t student_out = 0;            // workloads for which the student failed its trial

  bool operator==(const Report&) const = default;
};

inline constexpr std::string_view kStatus = "status 1\n";

std::optional<Level> parse_level(std::string_view word);

// Leaves out workloads beyond kMaxWorkloads or kMaxMessageBytes, and those whose path does not fit on a line.
std::string to_text(const Orders& orders);
std::string to_text(const Report& report);
Result<Orders> parse_orders(std::string_view text);
Result<Report> parse_report(std::string_view text);

}  // namespace wattle::actuation
