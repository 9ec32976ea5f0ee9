// store_schema: the schema of the store's file, as steps from each version to the next. A released step never changes.
// Threads  constant
#pragma once

#include <span>

namespace wattle::controller {

// Step i leads from version i to version i + 1 (common/sqlite/database).
std::span<const char* const> store_steps();

}  // namespace wattle::controller
