#include "lab/judges/histories.hpp"

#include <algorithm>
#include <utility>

#include "common/json/value.hpp"
#include "common/parse.hpp"

namespace wattle::sim::requests {
namespace {

constexpr std::size_t kMinutesPerValue = 5, kMemorySpan = 10;  // minutes; the latter is the controller's (RequestBook)
constexpr double kSecondsPerMinute = 60, kMinutesOfDay = 1440, kBytesOfMiB = 1 << 20;
const char* const kHistoryForm =
    "a line is `cpu` or `memory`, a name, the first minute that is judged, a request, values";

// The rule's output each minute, in the history's unit.
class Ours {
 public:
  explicit Ours(const History& history) : memory_(history.memory), unit_(history.memory ? kBytesOfMiB : 1) {
    (memory_ ? original_.memory_bytes : original_.cpu_cores) = history.request * unit_;
  }

  double minute(std::size_t minute, double need, double request) {
    const double now_s = kSecondsPerMinute * static_cast<double>(minute + 1);
    if (!memory_) {
      rule_.add_cpu(need, kSecondsPerMinute, now_s);
      rule_.look(original_, now_s);
      return rule_.cpu_cores().value_or(request);
    }
    // The rule measures its observation time by CPU readings.
    rule_.add_cpu(1, kSecondsPerMinute, now_s);
    const placement::PodMemory reported{std::min(need, request) * unit_, 0, false, need > request};
    most_bytes_ = std::max(most_bytes_, placement::needed_bytes(reported));
    if (++span_ == kMemorySpan || reported.killed) {
      rule_.add_memory(most_bytes_, now_s, reported.killed);
      most_bytes_ = 0;
      span_ = 0;
    }
    rule_.look(original_, now_s);
    return rule_.memory_bytes().value_or(request * unit_) / unit_;
  }

 private:
  placement::RequestRule rule_;
  placement::Resources original_;
  bool memory_;
  double unit_, most_bytes_ = 0;
  std::size_t span_ = 0;  // in minutes
};

Result<History> parse_history(std::string_view line) {
  const auto words = parse::split(line, ' ');
  const auto bad = [&](const char* what) {
    return fail(Errc::malformed, std::string(line.substr(0, 40)), what, kHistoryForm);
  };
  if (words.size() < 5 || (words[0] != "cpu" && words[0] != "memory")) return bad("is not a history");
  History history{words[0] == "memory", std::string(words[1]), 0, 0, {}};
  const auto from = parse::u64(words[2]);
  const auto request = parse::real(words[3]);
  for (std::size_t i = 4; i < words.size(); ++i) {
    const auto value = parse::real(words[i]);
    if (!value || *value < 0) return bad("contains a value that is not a number or negative");
    history.samples.push_back(*value);
  }
  if (!from || *from >= history.samples.size() * kMinutesPerValue) return bad("contains no minute to evaluate");
  if (!request || !(*request > 0)) return bad("has no requests");
  history.judged_from = static_cast<std::size_t>(*from);
  history.request = *request;
  return history;
}

}  // namespace

Result<std::vector<History>> parse_histories(std::string_view text, const std::string& file) {
  std::vector<History> histories;
  std::optional<Error> problem;
  std::size_t number = 0;
  parse::for_each_line(text, [&](std::string_view line) {
    if (problem) return;
    ++number;
    line = parse::trim(line);
    if (line.empty()) return;
    auto history = parse_history(line);
    if (history)
      histories.push_back(std::move(*history));
    else
      problem = history.error();
  });
  if (problem) return fail(Errc::malformed, file + ", line " + std::to_string(number), problem->what, kHistoryForm);
  if (histories.empty()) return fail(Errc::malformed, file, "has no histories", kHistoryForm);
  return histories;
}

HistoryResult play_history(const History& history) {
  Ours rule(history);
  HistoryResult result{history.name, 0, {}};
  HistoryFigures& sum = result.wattle;
  double request = history.request;
  const std::size_t minutes = history.samples.size() * kMinutesPerValue;
  const auto judged = static_cast<double>(minutes - history.judged_from);
  for (std::size_t minute = 0; minute < minutes; ++minute) {
    const double need = history.samples[minute / kMinutesPerValue];
    const double next = rule.minute(minute, need, request);
    const double before = std::exchange(request, next);
    if (minute < history.judged_from) continue;
    result.used += need / judged;
    sum.requested += before / judged;
    sum.slack += std::max(0.0, before - need) / judged;
    sum.missing += std::max(0.0, need - before) / judged;
    sum.under_ratio += (need > before ? 1 : 0) / judged;
    sum.changes_per_day += (next != before ? kMinutesOfDay : 0) / judged;
    sum.kills_per_day += (history.memory && need > before ? kMinutesOfDay : 0) / judged;
  }
  return result;
}

std::string histories_json(const std::vector<HistoryResult>& results) {
  std::string text;
  for (const HistoryResult& each : results) {
    const HistoryFigures& rule = each.wattle;
    const SortedJson figures{{"requested", rule.requested},
                             {"slack", rule.slack},
                             {"short", rule.missing},
                             {"under_ratio", rule.under_ratio},
                             {"changes_per_day", rule.changes_per_day},
                             {"kills_per_day", rule.kills_per_day}};
    text += SortedJson{{"history", each.name}, {"used", each.used}, {"wattle", figures}}.dump() + "\n";
  }
  return text;
}

}  // namespace wattle::sim::requests
