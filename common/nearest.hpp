// nearest: the known name that is closest to a mistyped one, for the "did you mean" of an error.
// Rules    ignores case; counts inserted, deleted, replaced and swapped letters: one may differ, two in a word of five
//          letters and three in a word of eight; otherwise a name that begins with the word, if it has three or more
//          letters
// Cost     words x names; looks at the first kMostNames names only
// Errors   none
// Threads  pure
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wattle {

inline constexpr std::size_t kMostNames = 5000;

// Returns the closest name; the first of several that are equally close.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& names);

// Returns the fix of an error about an unknown name: `did you mean "NAME"? FIX`, or only FIX if no name is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, std::string_view fix = {});

// Returns names as a list for an error: "a, b, c".
std::string comma_list(const std::vector<std::string>& names);

}  // namespace wattle
