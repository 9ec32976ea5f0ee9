// store_documents: the documents that the store's thread builds from its file: `report`, `record` of pods and hours,
// and `decisions` with the argument `since`.
// Errors   malformed (arguments), not_found (no store, or it does not keep these rows), unavailable (the writer stops
//          or is busy), and those of the database
// Threads  any
#pragma once

#include <future>
#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/store/store.hpp"
#include "controller/tariff.hpp"

namespace wattle::controller {

bool is_of_store(const std::string& what, const std::map<std::string, std::string>& arguments);
// Starts one of these documents; the caller chooses how long to wait. No store: not_found.
Result<std::future<Result<std::string>>> ask_store(Store& store, const std::string& what,
                                                   const std::map<std::string, std::string>& arguments, WallTime now,
                                                   const Tariff& tariff);

}  // namespace wattle::controller
