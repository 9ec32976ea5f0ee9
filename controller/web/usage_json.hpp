// usage_json: the document `report`: what namespaces, owners, nodes, values of a label or containers used in a span of time.
// Bounds   kMostHistory rows a document, those that drew most; what the others used is in one sum
// Errors   malformed (arguments), not_found (no store, or store.usage.max_bytes is 0), unavailable, and the database's
// Threads  report_text: the thread that owns the file; the others any
#pragma once

#include <future>
#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

struct ReportQuery {
  UsageQuery usage;
  std::size_t limit = 0;  // rows
  std::int64_t until_s = 0;
};

// `by`: namespace (as if nothing is said), owner, node, label with the argument `label`, container, of one pod with the argument
// `pod`; `since`: a span of time, 7d if nothing is said; `limit`.
Result<ReportQuery> parse_report(const std::map<std::string, std::string>& arguments, WallTime now);
Result<std::string> report_text(StoreFile& file, const ReportQuery& query);
// Has the store's thread make it. `store` null: there is none.
Result<std::future<Result<std::string>>> ask_report(Store* store, const std::map<std::string, std::string>& arguments,
                                                    WallTime now);

}  // namespace wattle::controller
