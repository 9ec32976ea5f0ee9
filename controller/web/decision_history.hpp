// decision_history: builds the document `decisions` from the store's file, for times before the oldest decision in
// memory.
// Bounds   kMostHistory decisions per document
// Errors   malformed (arguments), not_found (no store), unavailable (the writer stops or is busy), and those of the
//          database
// Threads  history_text: the thread that owns the file; the others any
#pragma once

#include <future>
#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostHistory = 1000;

struct HistoryQuery {
  std::int64_t since_s = 0;  // Unix
  std::size_t limit = 20;
};

// Returns true for the document `decisions` with the argument `since`.
bool is_history(const std::string& what, const std::map<std::string, std::string>& arguments);
// `since`: a time span before now, for example 90m or 7d; `limit`.
Result<HistoryQuery> parse_history(const std::map<std::string, std::string>& arguments, WallTime now);
// Returns the start of that time span, in Unix seconds; `otherwise` is the default span.
Result<std::int64_t> parse_since(const std::map<std::string, std::string>& arguments, const std::string& otherwise,
                                 WallTime now);
// Returns the limit, 1 to kMostHistory; `otherwise` is the default.
Result<std::size_t> parse_limit(const std::map<std::string, std::string>& arguments, std::size_t otherwise);
Result<std::string> history_text(StoreFile& file, const HistoryQuery& query);
// Runs the query on the store's thread; the caller chooses how long to wait. No store: not_found.
Result<std::future<Result<std::string>>> ask_history(Store& store, const std::map<std::string, std::string>& arguments,
                                                     WallTime now);

}  // namespace wattle::controller
