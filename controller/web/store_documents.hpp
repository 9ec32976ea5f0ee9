// store_documents: the documents that the store's thread builds from its file: `report`, `record` of pods and hours,
// and `decisions` with the argument `since`, for times before the oldest decision in memory.
// Errors   malformed (arguments), not_found (no store, or it does not keep these rows), unavailable (the writer stops
//          or is busy), and those of the database
// Threads  history_text: the thread that owns the file; the others any
#pragma once

#include <future>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/store/store.hpp"
#include "controller/tariff.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

struct HistoryQuery {
  std::int64_t since_s = 0;  // Unix
  std::size_t limit = 20;
};

bool is_of_store(const std::string& what, const Arguments& arguments);
// Starts one of these documents; the caller chooses how long to wait. No store: not_found.
Result<std::future<Result<std::string>>> ask_store(Store& store, const std::string& what, const Arguments& arguments,
                                                   WallTime now, const Tariff& tariff);
// `since`: a time span before now, for example 90m or 7d; `limit`.
Result<HistoryQuery> parse_history(const Arguments& arguments, WallTime now);
Result<std::string> history_text(StoreFile& file, const HistoryQuery& query);

}  // namespace wattle::controller
