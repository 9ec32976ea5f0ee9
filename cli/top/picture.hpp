// picture: what stands on the screen, whatever draws it: lines of spans, no wider and no more than the screen has.
// Units    columns and lines of a terminal
// Threads  values
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/table.hpp"

namespace wattle::cli::top {

struct Size {
  std::size_t lines = 24, columns = 80;
};

struct Span {
  std::string text;  // printable
  Tone tone = Tone::plain;
  bool bold = false, reverse = false;
};
using Line = std::vector<Span>;
using Picture = std::vector<Line>;

// The line's first columns; a wide character that would be cut is left out. `fill`: as wide as the screen, by the last span's looks.
Line clipped(const Line& line, std::size_t columns, bool fill = false);

}  // namespace wattle::cli::top
