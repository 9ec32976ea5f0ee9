// enum_name: the name of an enumerator from a table. Accepts values outside the enum, because a damaged file or another
// process may give them.
// Errors   none: "unknown" for a value without a name
// Threads  pure function
#pragma once

#include <cstddef>
#include <string_view>

namespace wattle {

// `names` has a name for each enumerator, in their order from `first`.
template <class Enum, std::size_t count>
constexpr std::string_view enum_name(const std::string_view (&names)[count], Enum value, std::size_t first = 0) {
  const std::size_t at = static_cast<std::size_t>(value) - first;
  return at < count ? names[at] : "unknown";
}

}  // namespace wattle
