// actuation: what wattle-agent and wattle-actuator say to each other over their socket: orders one way, a report the other.
// Source   datagrams of AF_UNIX SOCK_SEQPACKET, text, one line a workload:
//              orders 1 HEADROOM [WATTS]                              report 1 HEADROOM FOREIGN [WATTS [OUT]]
//              LEVEL[:COUNT/OVER][@STEP] PATH                         LEVEL STATE USED GRANTED FREED HIGH REFILLS[:MINUTE] PATH
//          "status 1" asks for a report and orders nothing
//          COUNT/OVER: requests that the workload answered since the agent's start, and how many of them too late
//          WATTS: what a core more in use draws on this node, where the agent knows; in thousandths, as are cores
//          OUT: workloads about which a student is not asked any more; told where there are some
//          STEP: MINUTE/BASE[/MEMORY], what the controller would have in force after the minute of that number: 1 + margin of CPU,
//          and of memory, in billionths
//          :MINUTE: the minute that has just ended, ten numbers and what is known of its requests and memory (actuation.cpp), in
//          billionths
//          "off +memory" among the orders: the agent reads what a minute tells of memory and students; an older one would take the
//          report for none
//          memory in bytes, "-" where a value is not known; a path is the rest of its line
// Errors   malformed, out_of_range; a message is taken whole or not at all
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

enum class Level : std::uint8_t { off, suggest, limits };
inline constexpr std::array<std::string_view, 3> kLevelNames{"off", "suggest", "limits"};

// unseen: there is no such cgroup; learning: too little was seen; hands_off: somebody else wrote its limits a moment ago
enum class State : std::uint8_t { unseen, learning, suggested, set, hands_off, trouble };
inline constexpr std::array<std::string_view, 6> kStateNames{"unseen", "learning",  "suggested",
                                                             "set",    "hands_off", "trouble"};

// Of requests since some moment, how many took longer than their target; over <= count.
struct Requests {
  std::uint64_t count = 0, over = 0;

  bool operator==(const Requests&) const = default;
};

// What somebody who sees more than the node would have in force from the end of that minute on.
struct MarginStep {
  std::uint64_t minute = 0;
  double margin_ratio = 0;                  // above -1
  std::optional<double> memory_ratio = {};  // likewise, of memory; absent: the rule's

  bool operator==(const MarginStep&) const = default;
};

// Memory in one minute of a workload whose memory is looked after.
struct MinuteOfMemory {
  std::optional<double> margin_ratio =
      {};                           // in force at its end, over what was worked on; absent: nothing was limited then
  std::uint64_t granted_bytes = 0;  // mean of memory.high, or of what was there while nothing was limited
  std::uint64_t used_bytes = 0;     // the most that was worked on
  double used_over_peak = 1;        // worked on at its end, over the most of ten minutes
  double short_ratio = 0;           // of the times that it was looked at: it hurt

  bool operator==(const MinuteOfMemory&) const = default;
};

// One minute of a workload whose limits are set.
struct Minute {
  std::uint64_t number = 0;                        // of those of this workload, since its limits were set first
  bool steered = false;                            // a MarginStep was in force
  double margin_ratio = 0, rule_margin_ratio = 0;  // at its end, and where the node's own rule goes next
  double throttled_ratio = 0;
  double used_cores = 0, granted_cores = 0;
  double deviation_ratio = 0, peak_ratio = 1;  // of one-second usages over their mean
  std::optional<Requests> requests = {};       // of this minute
  std::optional<MinuteOfMemory> memory = {};   // absent: it is left alone
  bool student_out = false;                    // a student failed its trial with this workload

  bool operator==(const Minute&) const = default;
};

struct Order {
  std::string path;  // of the cgroup below its mount
  Level level = Level::suggest;
  std::optional<Requests> requests = {};  // absent: nobody knows its latency
  std::optional<MarginStep> step = {};    // of a workload at level limits

  bool operator==(const Order&) const = default;
};

struct Orders {
  std::optional<double> headroom_cores;  // that the node may give away at most
  std::vector<Order> orders;
  std::optional<double> core_power_w = {};  // that a core more in use draws
  bool memory = false;                      // who orders reads of memory and students in a minute

  bool operator==(const Orders&) const = default;
};

struct Grant {
  std::string path;
  Level level = Level::suggest;
  State state = State::unseen;
  double used_cores = 0;
  std::optional<double> granted_cores;  // absent: what was there before
  std::optional<double> freed_cores;    // of a limit that was there before
  std::optional<std::int64_t> high_bytes;
  std::uint64_t refills = 0;          // quotas written, each of which gave a period's quota anew
  std::optional<Minute> minute = {};  // that ended in the last seconds

  bool operator==(const Grant&) const = default;
};

struct Report {
  std::optional<double> headroom_cores;
  std::uint64_t foreign = 0;  // writes by others that were found
  std::vector<Grant> grants;
  std::optional<double> core_power_w = {};  // as the agent said last
  std::uint64_t student_out = 0;            // workloads about which a student is not asked any more

  bool operator==(const Report&) const = default;
};

inline constexpr std::string_view kStatus = "status 1\n";

std::optional<Level> parse_level(std::string_view word);

// Workloads beyond kMaxWorkloads or kMaxMessageBytes, or with a path that is no line, are left out.
std::string to_text(const Orders& orders);
std::string to_text(const Report& report);
Result<Orders> parse_orders(std::string_view text);
Result<Report> parse_report(std::string_view text);

}  // namespace wattle::actuation
