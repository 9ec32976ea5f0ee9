// version: what this build calls itself.
#pragma once

#include <string_view>

namespace wattle {

inline constexpr std::string_view kVersion = WATTLE_VERSION;

}  // namespace wattle
