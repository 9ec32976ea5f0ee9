// formatted: text from a printf format.
// Errors   none; the text is never cut off
// Threads  any
#pragma once

#include <cstddef>
#include <string>

namespace wattle {

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);
// A number with this many decimals.
std::string fixed(double value, int decimals);
// The text behind spaces, right-aligned in a column of this width; unchanged if it is wider.
std::string padded(const std::string& text, std::size_t width);

}  // namespace wattle
