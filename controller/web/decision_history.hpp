// decision_history: the document `decisions` of a time that the controller's memory may not reach back to, made from the store's file.
// Bounds   kMostHistory decisions a document
// Errors   malformed (arguments), not_found (no store), unavailable (the writer stops or is busy), and the database's
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

// Whether a document is one of these: `decisions` with the argument `since`.
bool is_history(const std::string& what, const std::map<std::string, std::string>& arguments);
// `since`: a span of time before now, as in 90m, 7d; `limit`.
Result<HistoryQuery> parse_history(const std::map<std::string, std::string>& arguments, WallTime now);
// The time that is so long before `now`, Unix seconds; `otherwise` if nothing is said.
Result<std::int64_t> parse_since(const std::map<std::string, std::string>& arguments, const std::string& otherwise,
                                 WallTime now);
// How many decisions or rows, 1 to kMostHistory; `otherwise` if nothing is said.
Result<std::size_t> parse_limit(const std::map<std::string, std::string>& arguments, std::size_t otherwise);
Result<std::string> history_text(StoreFile& file, const HistoryQuery& query);
// Has the store's thread make it; who asks waits for as long as he likes. `store` null: there is none.
Result<std::future<Result<std::string>>> ask_history(Store* store, const std::map<std::string, std::string>& arguments,
                                                     WallTime now);

}  // namespace wattle::controller
