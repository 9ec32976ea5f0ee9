// table: rows of cells as lines of aligned text.
// Units    widths in terminal columns
// Errors   none: a row that is too short has empty cells, what is too much is left out
// Threads  any
#pragma once

#include <string>
#include <vector>

namespace wattle::cli {

enum class Tone { plain, good, warning, bad, faint };
enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

struct Cell {
  Cell(std::string t, Tone how = Tone::plain) : text(std::move(t)), tone(how) {}
  Cell(const char* t) : text(t) {}
  std::string text;
  Tone tone = Tone::plain;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

// Every cell made printable, the titles first, each line with as many cells as there are columns; and how wide each column is.
struct Layout {
  std::vector<std::vector<Cell>> lines;
  std::vector<std::size_t> widths;
};
Layout layout_of(const Table& table);
// A title line, then one line a row; two spaces between columns, none at the end of a line.
std::string to_text(const Table& table, bool colour);
// Lines of at most kWrap columns where words allow it, each behind so many spaces; whatever the text has in it is printable there.
inline constexpr std::size_t kWrap = 100;
std::string wrapped(const std::string& text, std::size_t indent);
// The text in the tone's colour.
std::string toned(const std::string& text, Tone tone, bool colour);

}  // namespace wattle::cli
