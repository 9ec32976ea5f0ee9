// picture: the content of the screen, independent of the terminal library: lines of spans that fit the screen.
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

// Returns the line's first columns; drops a wide character that would be cut. `fill`: pads to the width in the last
// span's style.
Line clipped(const Line& line, std::size_t columns, bool fill = false);

}  // namespace wattle::cli::top
