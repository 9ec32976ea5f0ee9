// store_documents: the documents that the store's thread makes of its file: `report`, `record` of pods and hours, and
//          `decisions` with the argument `since`.
// Errors   malformed (arguments), not_found (no store, or it keeps none of that), unavailable (the writer stops or is busy), and the
//          database's
// Threads  any
#pragma once

#include <future>
#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

bool is_of_store(const std::string& what, const std::map<std::string, std::string>& arguments);
// One of these. Who asks waits for as long as he likes. `store` null: there is none.
Result<std::future<Result<std::string>>> ask_store(Store* store, const std::string& what,
                                                   const std::map<std::string, std::string>& arguments, WallTime now);

}  // namespace wattle::controller
