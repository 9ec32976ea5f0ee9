#include "cli/top/model.hpp"

#include <algorithm>
#include <utility>

#include "cli/parts.hpp"
#include "common/error_line.hpp"
#include "common/printable.hpp"

namespace wattle::cli::top {

namespace {
// Names and filters match the displayed text, so that users can type what they see.
std::string without_last(std::string text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
  if (!text.empty()) text.pop_back();
  return text;
}
constexpr std::size_t kMostTyped = 200;
}  // namespace

void Model::report(const std::string& node, Result<Json> document) {
  if (node != node_) return;  // the answer is for an earlier selection
  if (!document) {
    problem_ = error_text(document.error());
    return;
  }
  problem_.clear();
  document_ = std::move(*document);
  known_ = true;
}

std::vector<View> Model::rows() {
  const View all(document_);
  std::vector<View> found = fleet() ? all["nodes"].items() : all["node"]["workloads"].items();
  const Order& how = order();
  return sorted(filtered(std::move(found), how.filter, name_of()), keys()[how.key], how.turned, name_of());
}

// Chooses the row at this position, clamped to the rows.
void Model::choose(const std::vector<View>& rows, std::size_t at) {
  Order& how = order();
  how.at = rows.empty() ? 0 : std::min(at, rows.size() - 1);
  how.chosen = rows.empty() ? "" : name_of()(rows[how.at]);
}

void Model::move(std::ptrdiff_t by) {
  const std::vector<View> all = rows();
  const Order& how = order();
  std::size_t at = how.at;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (name_of()(all[i]) == how.chosen) at = i;
  const auto to = static_cast<std::ptrdiff_t>(at) + by;
  choose(all, to < 0 ? 0 : static_cast<std::size_t>(to));
}

void Model::sort_by(std::size_t key) {
  Order& how = order();
  how.turned = how.key == key && !how.turned;
  how.key = key;
}

Then Model::back() {
  if (fleet()) return Then::draw;
  node_.clear();
  node_order_ = {};
  document_ = Json::object();
  known_ = false;
  problem_.clear();
  return Then::ask;
}

Then Model::enter() {
  if (!fleet()) return Then::draw;
  move(0);  // to an existing row
  if (fleet_order_.chosen.empty()) return Then::draw;
  node_ = fleet_order_.chosen;
  document_ = Json::object();
  known_ = false;
  problem_.clear();
  return Then::ask;
}

Then Model::type_filter(const KeyPress& pressed) {
  std::string& filter = order().filter;
  switch (pressed.key) {
    case Key::text:
      if (filter.size() < kMostTyped && is_printable(pressed.text)) append_utf8(filter, pressed.text);
      break;
    case Key::backspace:
      filter = without_last(std::move(filter));
      break;
    case Key::escape:
      filter.clear();
      typing_filter_ = false;
      break;
    case Key::enter:
      typing_filter_ = false;
      break;
    default:
      break;
  }
  move(0);
  return Then::draw;
}

Then Model::type(char32_t letter) {
  switch (letter) {
    case U'q':
      return Then::quit;
    case U'k':
      move(-1);
      return Then::draw;
    case U'j':
      move(1);
      return Then::draw;
    case U'/':
      typing_filter_ = true;
      return Then::draw;
    case U'r':
      order().turned = !order().turned;
      return Then::draw;
    case U'<':
    case U'>': {
      const std::size_t count = keys().size(), step = letter == U'>' ? 1 : count - 1;
      order().turned = false;
      order().key = (order().key + step) % count;
      return Then::draw;
    }
    case U'?':
    case U'h':
      help_ = true;
      return Then::draw;
    default:
      for (std::size_t i = 0; i < keys().size(); ++i)
        if (letter == static_cast<char32_t>(keys()[i].letter)) sort_by(i);
      return Then::draw;
  }
}

Then Model::press(const KeyPress& pressed) {
  if (std::exchange(help_, false)) return pressed.key == Key::text && pressed.text == U'q' ? Then::quit : Then::draw;
  const auto page = static_cast<std::ptrdiff_t>(page_);
  switch (pressed.key) {
    case Key::up:
      move(-1);
      return Then::draw;
    case Key::down:
      move(1);
      return Then::draw;
    case Key::page_up:
      move(-page);
      return Then::draw;
    case Key::page_down:
      move(page);
      return Then::draw;
    case Key::first:
      choose(rows(), 0);
      return Then::draw;
    case Key::last:
      choose(rows(), SIZE_MAX);
      return Then::draw;
    default:
      break;
  }
  if (typing_filter_) return type_filter(pressed);
  switch (pressed.key) {
    case Key::text:
      return type(pressed.text);
    case Key::enter:
      return enter();
    case Key::backspace:
      return back();
    case Key::escape:
      if (order().filter.empty()) return back();
      order().filter.clear();
      return Then::draw;
    default:
      return Then::draw;
  }
}

}  // namespace wattle::cli::top
