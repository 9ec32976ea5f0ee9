#include "controller/web/history_json.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "controller/web/fleet_history.hpp"
#include "controller/web/series.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

Document history_refused(Error error) { return ready(Result<std::string>(tl::unexpected<Error>(std::move(error)))); }

json history_value(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * 1e4) / 1e4;
}

// The sums of one point of the answer.
struct HistoryPoint {
  std::array<double, FleetHistory::kWidth> sums{};
  std::array<std::uint32_t, FleetHistory::kWidth> counts{};
  void add(const FleetHistory::Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (std::isnan(row[i])) continue;
      sums[i] += static_cast<double>(row[i]);
      ++counts[i];
    }
  }
};

struct FleetPast {
  FleetHistory::Range range;
  std::vector<HistoryPoint> points;
  std::string values, nodes;  // of the answer
  void add(std::int64_t at_s, const FleetHistory::Row& row) {
    if (at_s < range.from_s) return;
    const auto index = static_cast<std::size_t>((at_s - range.from_s) / range.step_s);
    if (index < points.size()) points[index].add(row);
  }
  json column(std::size_t number) const {
    json list = json::array();
    for (const HistoryPoint& point : points)
      list.push_back(point.counts[number] == 0 ? json(nullptr)
                                               : history_value(point.sums[number] / point.counts[number]));
    return list;
  }
};

// Adds a column to the answer: a value of the fleet, or the pods of a node.
void write_column(const FleetHistory& history, FleetPast& fleet, std::size_t number) {
  const bool of_node = number >= FleetHistory::kValues.size();
  const std::string name =
      of_node ? history.nodes()[number - FleetHistory::kValues.size()] : std::string(FleetHistory::kValues[number]);
  if (name.empty()) return;
  std::string& text = of_node ? fleet.nodes : fleet.values;
  text.append(text.empty() ? "" : ",").append(json(name).dump()).append(":").append(fleet.column(number).dump());
}

json marks_between(const FleetHistory& history, std::int64_t from_s, std::int64_t until_s) {
  json marks = json::array();
  for (const HistoryMark& each : history.marks())
    if (each.at_s >= from_s && each.at_s < until_s)
      marks.push_back({{"at_wall_ns", each.at_s * 1'000'000'000}, {"kind", each.kind}, {"text", each.text}});
  return marks;
}

std::string fleet_history_document(const FleetHistory& history, const FleetPast& fleet) {
  const FleetHistory::Range& range = fleet.range;
  const std::int64_t end_s = range.from_s + range.step_s * (static_cast<std::int64_t>(range.points) - 1);
  return R"({"history":{"step_s":)" + std::to_string(range.step_s) + R"(,"end_wall_ns":)" +
         std::to_string(end_s * 1'000'000'000) + R"(,"values":{)" + fleet.values + R"(},"pods_by_node":{)" +
         fleet.nodes + R"(},"marks":)" + marks_between(history, range.from_s, end_s + range.step_s).dump() + "}}";
}

struct HistorySpan {
  std::int64_t from_s = 0, until_s = 0;  // Unix
};

// Parses the arguments `span` and `until`.
Result<HistorySpan> history_span(const Parts& from, const Arguments& arguments) {
  constexpr double kMost_s = 90.0 * 86'400;
  const std::string span = argument(arguments, "span", "1h"), until = argument(arguments, "until");
  const auto span_s = parse::duration_s(span);
  if (!span_s || *span_s < 1 || *span_s > kMost_s)
    return fail(Errc::malformed, "argument span", "invalid value '" + span + "'",
                "use a duration from 1s to 90d, for example 1h, 24h or 7d");
  std::int64_t until_s = to_ns(from.clock.wall()) / 1'000'000'000;
  if (!until.empty()) {
    const auto given = parse::u64(until);
    if (!given || *given > static_cast<std::uint64_t>(until_s))
      return fail(Errc::malformed, "argument until", "invalid value '" + until + "'",
                  "use a Unix time in seconds that has passed");
    until_s = static_cast<std::int64_t>(*given);
  }
  return HistorySpan{until_s - static_cast<std::int64_t>(*span_s), until_s};
}

Document fleet_history_text(const Parts& from, const Arguments& arguments) {
  const auto span = history_span(from, arguments);
  if (!span) return history_refused(span.error());
  const FleetHistory& history = from.series.fleet();
  const auto fleet = std::make_shared<FleetPast>();
  fleet->range = history.range(span->from_s, span->until_s);
  fleet->points.resize(fleet->range.points);
  const FleetHistory::Tier& tier = *fleet->range.tier;
  Steps sums = each_of(tier.slots, [fleet, &tier](const FleetHistory::Slot& slot) {
    fleet->add(slot.number * tier.step_s, slot.values);
  });
  Steps current = [fleet, &tier] {
    fleet->add(tier.number * tier.step_s, tier.mean());
    return false;
  };
  Steps columns = [fleet, &history, number = std::size_t{0}]() mutable {
    write_column(history, *fleet, number++);
    return number < FleetHistory::kWidth;
  };
  return then(in_order({std::move(sums), std::move(current), std::move(columns)}),
              [fleet, &history] { return ready(Result<std::string>(fleet_history_document(history, *fleet))); });
}

// The rows of a node's or pod's history in the span; without one, all of the fine steps.
Document part_history_text(const Parts& from, const Series::Past& past, const std::optional<HistorySpan>& span) {
  const std::int64_t step_s = past.step / std::chrono::seconds(1), newest_s = to_ns(past.end) / 1'000'000'000;
  const auto rows = static_cast<std::int64_t>(past.ring->size());
  const auto at_s = [&](std::int64_t row) { return newest_s - step_s * (rows - 1 - row); };
  std::int64_t first = 0, end = rows;
  while (span && first < end && at_s(first) < span->from_s) ++first;
  while (span && end > first && at_s(end - 1) > span->until_s) --end;
  json values = json::object();
  for (std::size_t column = 0; column < past.names.size(); ++column) {
    json list = json::array();
    for (std::int64_t row = first; row < end; ++row)
      list.push_back(history_value(static_cast<double>(past.ring->at(static_cast<std::size_t>(row), column))));
    values[std::string(past.names[column])] = std::move(list);
  }
  const HistorySpan marked = span.value_or(HistorySpan{at_s(first) - step_s, newest_s});
  const json marks = marks_between(from.series.fleet(), marked.from_s, marked.until_s + 1);
  const std::int64_t end_ns = end == rows ? to_ns(past.end) : at_s(end - 1) * 1'000'000'000;
  return ready(Result<std::string>(
      json{{"history", {{"step_s", step_s}, {"end_wall_ns", end_ns}, {"values", std::move(values)}, {"marks", marks}}}}
          .dump()));
}

}  // namespace

Document history_text(const Parts& from, const Arguments& arguments) {
  const auto node = arguments.find("node"), pod = arguments.find("pod");
  if (node == arguments.end() && pod == arguments.end()) return fleet_history_text(from, arguments);
  if (node != arguments.end() && pod != arguments.end())
    return history_refused({Errc::malformed, "arguments node and pod", "are both given", "pass one of them"});
  std::optional<HistorySpan> span;
  if (arguments.contains("span") || arguments.contains("until")) {
    const auto given = history_span(from, arguments);
    if (!given) return history_refused(given.error());
    span = *given;
  }
  const auto since = span ? std::optional(WallTime(std::chrono::seconds(span->from_s))) : std::nullopt;
  const Series::Past past =
      node != arguments.end() ? from.series.node(node->second, since) : from.series.pod(pod->second, since);
  if (past.ring == nullptr)
    return history_refused({Errc::not_found, node != arguments.end() ? "node " + node->second : "pod " + pod->second,
                            "has no recorded history",
                            "wait 20 s; list nodes and pods with `wattle nodes` and `wattle pods`"});
  return part_history_text(from, past, span);
}

}  // namespace wattle::controller
