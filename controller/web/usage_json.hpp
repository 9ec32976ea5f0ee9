// usage_json: builds the document `report`: usage of namespaces, owners, nodes, label values or containers in a time
// span.
// Bounds   kMostHistory rows per document, those with the most energy; the usage of the others is one sum
// Errors   malformed (arguments), not_found (no store), unavailable, and those of the database
// Threads  report_text: the thread that owns the file; the others any
#pragma once

#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/store/store.hpp"
#include "controller/tariff.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

struct ReportQuery {
  UsageQuery usage;
  std::size_t limit = 0;  // rows
  std::int64_t until_s = 0;
  Tariff tariff = {};
};

// `by`: namespace (default), owner, node, label with the argument `label`, or container, for one pod with the argument
// `pod`; `since`: a time span, 7d by default; `limit`.
Result<ReportQuery> parse_report(const Arguments& arguments, WallTime now, const Tariff& tariff = {});
Result<std::string> report_text(StoreFile& file, const ReportQuery& query);
}  // namespace wattle::controller
