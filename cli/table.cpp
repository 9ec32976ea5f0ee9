#include "cli/table.hpp"

#include <algorithm>
#include <string_view>

#include "common/parse.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
// SGR codes of ECMA-48.
std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::good:
      return "32";
    case Tone::warning:
      return "33";
    case Tone::bad:
      return "31";
    case Tone::faint:
      return "2";
  }
  return "";
}
constexpr std::size_t kNarrowest = 24;  // least width of a wrapped last column
constexpr std::size_t kWrap = 100, kLeastWrap = 40;

struct OutputWidth {
  std::size_t text = kWrap;
  std::size_t table = std::string::npos;
};
OutputWidth& output_width() {
  static OutputWidth width;
  return width;
}

// Removes columns until the table fits, and returns their titles. A last column of long text stays, because it wraps.
std::vector<std::string> drop_columns(std::vector<Column>& columns, Layout& layout) {
  const auto needs = [&] {
    std::size_t sum = 2 * (columns.size() - 1);
    for (const std::size_t width : layout.widths) sum += width;
    const bool wraps = columns.back().align == Align::left && layout.widths.back() > kNarrowest;
    return wraps ? sum - layout.widths.back() + kNarrowest : sum;
  };
  std::vector<std::string> dropped;
  while (columns.size() > 2 && needs() > output_width().table) {
    const bool wraps = columns.back().align == Align::left && layout.widths.back() > kNarrowest;
    const auto at = static_cast<std::ptrdiff_t>(columns.size() - (wraps ? 2 : 1));
    dropped.insert(dropped.begin(), columns[static_cast<std::size_t>(at)].title);
    columns.erase(columns.begin() + at);
    layout.widths.erase(layout.widths.begin() + at);
    for (auto& line : layout.lines) line.erase(line.begin() + at);
  }
  return dropped;
}

// A cell's text in lines that begin at this column, without the last line's end.
std::string toned_lines(const Cell& cell, std::size_t at, bool colour) {
  std::string out;
  parse::for_each_line(wrapped(cell.text, at), [&](std::string_view line) {
    out += (out.empty() ? "" : "\n" + std::string(at, ' ')) + toned(std::string(line.substr(at)), cell.tone, colour);
  });
  return out;
}
}  // namespace

std::string toned(const std::string& text, Tone tone, bool colour) {
  const std::string_view code = code_of(tone);
  return !colour || code.empty() ? text : "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
}

Layout layout_of(const Table& table) {
  const std::size_t count = table.columns.size();
  Layout out{{}, std::vector<std::size_t>(count, 0)};
  std::vector<Cell> titles;
  for (const Column& column : table.columns) titles.emplace_back(printable(column.title));
  out.lines.push_back(std::move(titles));
  for (const auto& row : table.rows) {
    std::vector<Cell> line;
    for (std::size_t i = 0; i < count; ++i)
      line.push_back(i < row.size() ? Cell(printable(row[i].text), row[i].tone) : Cell(""));
    out.lines.push_back(std::move(line));
  }
  for (const auto& line : out.lines)
    for (std::size_t i = 0; i < count; ++i) out.widths[i] = std::max(out.widths[i], display_width(line[i].text));
  return out;
}

std::string to_text(const Table& table, bool colour) { return to_text(table, Style{.colour = colour}); }

void fit_output(std::size_t terminal_columns, bool wide) {
  const bool pipe = terminal_columns == 0;
  output_width() = {pipe ? kWrap : std::clamp(terminal_columns, kLeastWrap, kWrap),
                    pipe || wide ? std::string::npos : terminal_columns};
}

std::size_t text_width() { return output_width().text; }

std::string to_text(const Table& table, const Style& style) {
  std::vector<Column> columns = table.columns;
  Layout layout = layout_of(table);
  const std::vector<std::string> dropped = drop_columns(columns, layout);
  const auto& [lines, widths] = layout;
  const std::size_t count = columns.size();
  std::size_t last_at = 0;  // column of the last cell
  for (std::size_t i = 0; i + 1 < count; ++i) last_at += widths[i] + 2;
  std::string out;
  for (std::size_t row = style.headers ? 0 : 1; row < lines.size(); ++row) {
    const std::vector<Cell>& line = lines[row];
    std::string gap;  // added before the next cell, so that no line ends in spaces
    for (std::size_t i = 0; i < count; ++i) {
      if (i + 1 == count && i > 0 && row > 0 && columns[i].align == Align::left &&
          last_at + display_width(line[i].text) > text_width() && last_at + kNarrowest <= text_width()) {
        out += gap + "  " + toned_lines(line[i], last_at, style.colour);
        break;
      }
      const std::string pad(widths[i] - display_width(line[i].text), ' ');
      if (i > 0) gap += "  ";
      if (columns[i].align == Align::right) gap += pad;
      if (!line[i].text.empty()) {
        out += gap + toned(line[i].text, line[i].tone, style.colour);
        gap.clear();
      }
      if (columns[i].align == Align::left) gap += pad;
    }
    out += "\n";
  }
  std::string names;
  for (const std::string& title : dropped) names += (names.empty() ? "" : ", ") + title;
  return out + (names.empty() ? "" : wrapped("(hidden: " + names + "; see -o wide)", 0));
}

std::string wrapped(const std::string& text, std::size_t indent) {
  const std::string clean = printable(text), pad(indent, ' ');
  std::string out, line;
  for (std::size_t at = 0; at < clean.size();) {
    const std::size_t end = std::min(clean.find(' ', at), clean.size());
    const std::string word = clean.substr(at, end - at);
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > text_width()) {
      out += pad + line + "\n";
      line.clear();
    }
    if (!word.empty()) line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return line.empty() ? out : out + pad + line + "\n";
}

}  // namespace wattle::cli
