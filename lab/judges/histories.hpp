// histories: runs the controller's rule of requests on given usage histories, for comparison with an external
// recommender (lab/benchmarks/requests_vpa.py runs VPA's on the same).
// Source   lines `cpu NAME FROM REQUEST V...`: cores used, or `memory NAME FROM REQUEST V...`: MiB needed, a value for
//          each five minutes; FROM is the first judged minute, REQUEST the initial request
// Plays    minute by minute; the rule's output applies from the next minute. Memory: a minute that needs more than
//          the request, which is also the limit, is an OOM kill, and needs the same in the next minute. Ten minutes are
//          reported at once, and a kill within its minute, as the controller does
// Gives    slack: requested but not used; under: minutes that used more than was requested, and by how much; kills
// Units    cores, or MiB of memory; minutes; shares 0..1
// Errors   malformed: names the line
// Threads  pure functions
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "provision/requests/request_rule.hpp"

namespace wattle::sim::requests {

struct History {
  bool memory = false;
  std::string name;
  std::size_t judged_from = 0;  // minute
  double request = 0;           // cores, or MiB
  std::vector<double> samples;
};

// Means over the judged minutes.
struct HistoryFigures {
  double requested = 0, slack = 0, missing = 0;
  double under_ratio = 0;
  double changes_per_day = 0;
  double kills_per_day = 0;
};

struct HistoryResult {
  std::string name;
  double used = 0;
  HistoryFigures wattle;
};

Result<std::vector<History>> parse_histories(std::string_view text, const std::string& file);

HistoryResult play_history(const History& history);

// A line of JSON per result.
std::string histories_json(const std::vector<HistoryResult>& results);

}  // namespace wattle::sim::requests
