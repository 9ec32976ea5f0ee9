#include "controller/web/decision_history.hpp"

#include <utility>

#include "common/parse.hpp"
#include "controller/decisions/decision_row.hpp"
#include "controller/web/decision_json.hpp"

namespace wattle::controller {

using json = SortedJson;

bool is_history(const std::string& what, const std::map<std::string, std::string>& arguments) {
  return what == "decisions" && arguments.contains("since");
}

Result<std::size_t> parse_limit(const std::map<std::string, std::string>& arguments, std::size_t otherwise) {
  const auto given = arguments.find("limit");
  if (given == arguments.end()) return otherwise;
  const auto value = parse::u64(given->second);
  if (!value || *value < 1 || *value > kMostHistory)
    return fail(Errc::malformed, "argument limit", "invalid value '" + given->second + "'",
                "use a number from 1 to " + std::to_string(kMostHistory));
  return *value;
}

Result<std::int64_t> parse_since(const std::map<std::string, std::string>& arguments, const std::string& otherwise,
                                 WallTime now) {
  const auto since = arguments.find("since");
  const std::string& text = since != arguments.end() ? since->second : otherwise;
  const auto span_s = parse::duration_s(text);
  constexpr double kMost_s = 100.0 * 366 * 86'400;
  if (!span_s || !(*span_s > 0) || *span_s > kMost_s)
    return fail(Errc::malformed, "argument since", "invalid value '" + text + "'",
                "use a duration, for example 90m, 24h or 7d");
  return to_ns(now) / 1'000'000'000 - static_cast<std::int64_t>(*span_s);
}

Result<HistoryQuery> parse_history(const std::map<std::string, std::string>& arguments, WallTime now) {
  HistoryQuery query;
  WATTLE_TRY(query.limit, parse_limit(arguments, query.limit));
  WATTLE_TRY(query.since_s, parse_since(arguments, "", now));
  return query;
}

Result<std::string> history_text(StoreFile& file, const HistoryQuery& query) {
  WATTLE_TRY(const DecisionPage page, file.decisions().newest(query.since_s, query.limit));
  json list = json::array();
  for (const DecisionRow& row : page.rows)
    if (const auto entry = parse_decision(row)) list.push_back(decision_json(*entry));
  return json{{"kept", page.kept}, {"decisions", std::move(list)}}.dump();
}

Result<std::future<Result<std::string>>> ask_history(Store& store, const std::map<std::string, std::string>& arguments,
                                                     WallTime now) {
  WATTLE_TRY(const HistoryQuery query, parse_history(arguments, now));
  if (!store.on())
    return fail(Errc::not_found, "decisions since", "no store is configured",
                "set store.path to a file on a local disk");
  return store.read([query](StoreFile& file) { return history_text(file, query); });
}

}  // namespace wattle::controller
