#include "cli/top/picture.hpp"

#include "common/printable.hpp"

namespace wattle::cli::top {

Line clipped(const Line& line, std::size_t columns, bool fill) {
  Line out;
  std::size_t used = 0;
  bool full = false;
  for (const Span& span : line) {
    Span kept{"", span.tone, span.bold, span.reverse};
    for (std::string_view rest = span.text; !rest.empty() && !full;) {
      const std::string_view before = rest;
      take_code_point(rest);
      const std::string_view one = before.substr(0, before.size() - rest.size());
      const std::size_t width = display_width(one);
      full = used + width > columns;
      if (full) break;
      kept.text += one;
      used += width;
    }
    if (!kept.text.empty()) out.push_back(std::move(kept));
    if (full) break;
  }
  if (fill && used < columns) {
    if (out.empty())
      out.push_back(line.empty() ? Span{} : Span{"", line.back().tone, line.back().bold, line.back().reverse});
    out.back().text += std::string(columns - used, ' ');
  }
  return out;
}

}  // namespace wattle::cli::top
