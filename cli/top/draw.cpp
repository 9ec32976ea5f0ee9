// draw: the part of Model that draws: the state, the view and its order, titles, rows, and the available keys or a
// problem.
#include <algorithm>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/top/model.hpp"
#include "common/printable.hpp"

namespace wattle::cli::top {

namespace {
constexpr std::size_t kAround = 4;  // lines that are not rows
constexpr const char* kGap = "  ";

const std::vector<std::pair<std::string, std::string>>& help_lines() {
  static const std::vector<std::pair<std::string, std::string>> lines{
      {"up, down, j, k", "select a row; also page up, page down, home, end"},
      {"Enter", "open the selected node: its pods with power and energy"},
      {"Esc, Backspace", "return to the fleet; Esc first clears a filter"},
      {"/", "show only rows whose name or state contains the typed text"},
      {"< >", "sort by the previous or next column"},
      {"r", "reverse the order"},
      {"q, Ctrl-C", "quit"}};
  return lines;
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string pad(width - std::min(width, display_width(text)), ' ');
  return align == Align::right ? pad + text : text + pad;
}

void drop_column(Table& table, std::size_t at) {
  const auto offset = static_cast<std::ptrdiff_t>(at);
  table.columns.erase(table.columns.begin() + offset);
  for (auto& row : table.rows) row.erase(row.begin() + offset);
}
}  // namespace

std::string Model::about_node() const {
  const View node = View(document_)["node"];
  if (!known_) return node_ + ": waiting for the controller";
  const std::string source = node["energy_source"].text_or("");
  return node_ + ": " + state_cell(node).text + ", " + watts(node["power_w"], source) + " (idle " +
         watts(node["idle_w"], source) + "), " + joules(node["energy_j"]) + " since first seen, CPU " +
         number(node["cpu_used_cores"], 2) + " of " + number(node["cpu_cores"], 0) + ", latency " +
         latency_cell(node).text;
}

Line Model::heading(std::size_t shown, std::size_t all) {
  const Order& how = order();
  const SortKey& key = keys()[how.key];
  std::string text = fleet() ? "nodes" : about_node() + " | workloads";
  text += " " + std::to_string(shown) + (shown == all ? "" : " of " + std::to_string(all)) + " | by " +
          std::string(key.column) + ", " +
          (key.value == nullptr ? (how.turned ? "Z to A" : "A to Z") : (how.turned ? "lowest first" : "highest first"));
  if (!how.filter.empty() && !typing_filter_) text += " | filter: " + how.filter;
  return {{printable(text)}};
}

Line Model::last_line() {
  if (typing_filter_)
    return {{"/" + printable(order().filter) + "_", Tone::plain, true},
            {"   Enter keeps it, Esc clears it", Tone::faint}};
  if (!problem_.empty()) return {{printable(problem_), Tone::bad, true}};
  std::string letters;
  for (const SortKey& key : keys()) letters += key.letter;
  return {{"q quit  " + std::string(fleet() ? "Enter open" : "Esc back") + "  / filter  " + letters +
               " or <> sort  r reverse  ? help",
           Tone::faint}};
}

void Model::add_table(Picture& picture, const std::vector<View>& seen, std::size_t columns) {
  Table table = fleet() ? nodes_table(seen, wide_) : pods_table(seen, wide_);
  if (!fleet()) drop_column(table, 1);  // the node is the same for all
  const SortKey& key = keys()[order().key];
  for (Column& column : table.columns)
    if (column.title == key.column) column.title += order().turned ? "^" : "v";
  const Layout layout = layout_of(table);
  for (std::size_t i = 0; i < layout.lines.size(); ++i) {
    const bool titles = i == 0, chosen = !titles && name_of()(seen[i - 1]) == order().chosen;
    Line line;
    for (std::size_t c = 0; c < layout.widths.size(); ++c) {
      const Cell& cell = layout.lines[i][c];
      line.push_back({padded(cell.text, layout.widths[c], table.columns[c].align) + kGap, cell.tone, titles, chosen});
    }
    picture.push_back(clipped(line, columns, chosen));
  }
}

Picture Model::picture(Size size) {
  Picture out;
  if (size.lines == 0 || size.columns == 0) return out;
  const View all(document_);
  const std::vector<View> found = rows();
  move(0);
  Order& how = order();
  page_ = size.lines > kAround ? size.lines - kAround : 1;
  how.top = std::min(how.top, how.at);
  if (how.at >= how.top + page_) how.top = how.at + 1 - page_;
  how.top = std::min(how.top, found.size() > page_ ? found.size() - page_ : 0);

  const std::size_t known = (fleet() ? all["nodes"] : all["node"]["workloads"]).items().size();
  out.push_back(
      clipped({{known_ ? printable(status_line(all["status"])) : "waiting for the controller", Tone::plain, true}},
              size.columns));
  out.push_back(clipped(heading(found.size(), known), size.columns));
  if (help_) {
    for (const auto& [keys_typed, what] : help_lines())
      out.push_back(clipped({{padded(keys_typed, 16, Align::left), Tone::plain, true}, {what}}, size.columns));
    for (const SortKey& key : keys())
      out.push_back(clipped({{padded(std::string(1, key.letter), 16, Align::left), Tone::plain, true},
                             {"sort by " + std::string(key.column)}},
                            size.columns));
  } else {
    const auto first = found.begin() + static_cast<std::ptrdiff_t>(std::min(how.top, found.size()));
    const auto last = found.begin() + static_cast<std::ptrdiff_t>(std::min(how.top + page_, found.size()));
    add_table(out, {first, last}, size.columns);
  }
  out.resize(size.lines);
  out.back() = clipped(last_line(), size.columns);
  return out;
}

}  // namespace wattle::cli::top
