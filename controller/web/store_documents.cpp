#include "controller/web/store_documents.hpp"

#include <utility>

#include "controller/decisions/decision_row.hpp"
#include "controller/web/decision_json.hpp"
#include "controller/web/record_json.hpp"
#include "controller/web/usage_json.hpp"

namespace wattle::controller {
namespace {

template <class Query>
Result<std::future<Result<std::string>>> ask(Store& store, const char* subject, Result<Query> query,
                                             Result<std::string> (*text)(StoreFile&, const Query&)) {
  if (!query) return forward_error(query);
  if (!store.on())
    return fail(Errc::not_found, subject, "no store is configured", "set store.path to a file on a local disk");
  return store.read([query = std::move(*query), text](StoreFile& file) { return text(file, query); });
}

}  // namespace

Result<HistoryQuery> parse_history(const Arguments& arguments, WallTime now) {
  HistoryQuery query;
  WATTLE_TRY(query.limit, parse_limit(arguments, query.limit));
  WATTLE_TRY(query.since_s, parse_since(arguments, "", now));
  return query;
}

Result<std::string> history_text(StoreFile& file, const HistoryQuery& query) {
  WATTLE_TRY(const DecisionPage page, file.decisions().newest(query.since_s, query.limit));
  SortedJson list = SortedJson::array();
  for (const DecisionRow& row : page.rows)
    if (const auto entry = parse_decision(row)) list.push_back(decision_json(*entry));
  return SortedJson{{"kept", page.kept}, {"decisions", std::move(list)}}.dump();
}

bool is_of_store(const std::string& what, const Arguments& arguments) {
  return what == "report" || (what == "record" && argument(arguments, "of") != "nodes") ||
         (what == "decisions" && arguments.contains("since"));
}

Result<std::future<Result<std::string>>> ask_store(Store& store, const std::string& what, const Arguments& arguments,
                                                   WallTime now, const Tariff& tariff) {
  if (what == "record") return ask(store, "record", parse_record(arguments, now), record_text);
  if (what == "report") return ask(store, "report", parse_report(arguments, now, tariff), report_text);
  return ask(store, "decisions since", parse_history(arguments, now), history_text);
}

}  // namespace wattle::controller
