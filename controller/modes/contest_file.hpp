// contest_file: what is kept over a restart of the contest between network and planner, so that a network that was left out stays it.
// Format   one JSON object, format 1: of (policy and reward that it is about), network (file that it was loaded from), why,
//          left_out, evidence, mean, mean_square, blocks, changes
// Errors   parse: malformed, names what
// Threads  values, pure functions
#pragma once

#include <string>
#include <string_view>

#include "common/result.hpp"
#include "placement/contest.hpp"

namespace wattle::controller {

inline constexpr std::string_view kContestFile = "contest";

struct ContestKept {
  std::string of, network, why;
  placement::ContestState state;
};
std::string contest_text(const ContestKept& kept);
Result<ContestKept> parse_contest(std::string_view text);

}  // namespace wattle::controller
