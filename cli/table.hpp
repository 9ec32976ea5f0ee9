// table: formats rows of cells as lines of aligned text.
// Units    widths in terminal columns
// Errors   none: a short row gets empty cells, and surplus cells are dropped
// Threads  any
#pragma once

#include <string>
#include <vector>

namespace wattle::cli {

struct Style {
  bool wide = false;
  bool colour = false;
  bool headers = true;  // of lists
};

enum class Tone { plain, good, warning, bad, faint };
enum class Align { left, right };

struct Column {
  Column(std::string t, Align a = Align::left) : title(std::move(t)), align(a) {}
  // ">AGE": the title AGE, aligned to the right.
  Column(const char* t) : title(*t == '>' ? t + 1 : t), align(*t == '>' ? Align::right : Align::left) {}
  std::string title;
  Align align;
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

// Printable cells, titles first, each line with as many cells as there are columns, and the width of each column.
struct Layout {
  std::vector<std::vector<Cell>> lines;
  std::vector<std::size_t> widths;
};
Layout layout_of(const Table& table);
// Fits all output to a terminal with this number of columns; 0: to a pipe. Text is wrapped at 100 columns, or at the
// terminal's if it has fewer. A table that is wider than the terminal loses its last columns, and a line below names
// them; `wide` tables keep all.
void fit_output(std::size_t terminal_columns, bool wide);
std::size_t text_width();
// Returns a title line, then one line per row; two spaces between columns, none at the end of a line.
std::string to_text(const Table& table, bool colour);
// The same for a list; without titles if the style has none.
std::string to_text(const Table& table, const Style& style);
// Wraps printable text at text_width() if words permit, with this many spaces before each line.
std::string wrapped(const std::string& text, std::size_t indent);
// Returns the text in the tone's colour.
std::string toned(const std::string& text, Tone tone, bool colour);

}  // namespace wattle::cli
