// version: version of this build.
#pragma once

#include <string_view>

namespace wattle {

inline constexpr std::string_view kVersion = WATTLE_VERSION;

}  // namespace wattle
