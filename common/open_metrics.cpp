#include "common/open_metrics.hpp"

#include <algorithm>
#include <cctype>

#include "common/parse.hpp"

namespace wattle {

namespace {
constexpr std::string_view kTotal = "_total", kHelp = "# HELP ", kType = "# TYPE ", kBound = "le=\"";
constexpr std::string_view kOpenType = "application/openmetrics-text; version=1.0.0; charset=utf-8";
constexpr std::string_view kTextType = "text/plain; version=0.0.4; charset=utf-8";

// Calls f(part) for each part between separators, without blanks around it.
template <class F>
void for_each_part(std::string_view text, char separator, F&& f) {
  while (true) {
    const auto end = text.find(separator);
    f(parse::trim(text.substr(0, end)));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// A media range of an Accept header: its type, its version and its weight.
struct Range {
  std::string_view type, version;
  double weight = 1;
};

Range range_of(std::string_view item) {
  Range range;
  bool first = true;
  for_each_part(item, ';', [&](std::string_view part) {
    if (first) range.type = part;
    first = false;
    if (part.starts_with("version=")) range.version = part.substr(8);
    if (part.starts_with("q=")) range.weight = parse::real(part.substr(2)).value_or(0);
  });
  return range;
}

// The name of a family: the word after "# HELP " or "# TYPE ".
std::string_view family_of(std::string_view line) {
  line.remove_prefix(kHelp.size());
  return line.substr(0, line.find(' '));
}

// Appends a line about a family, without the ending of a counter's name.
void append_about(std::string& out, std::string_view line, bool counter) {
  std::string_view name = family_of(line);
  const std::string_view rest = line.substr(kHelp.size() + name.size());
  if (counter && name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
  out.append(line.substr(0, kHelp.size())).append(name).append(rest == " untyped" ? " unknown" : rest) += '\n';
}

// Appends a sample; the bound of a bucket gets a fraction: le="5" becomes le="5.0".
void append_sample(std::string& out, std::string_view line) {
  const auto bound = line.find(kBound);
  const auto from = bound + kBound.size();
  const auto end = bound == std::string_view::npos ? bound : line.find('"', from);
  const bool whole = end != std::string_view::npos && end > from &&
                     std::ranges::all_of(line.substr(from, end - from),
                                         [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  if (whole)
    out.append(line.substr(0, end)).append(".0").append(line.substr(end));
  else
    out.append(line);
  out += '\n';
}
}  // namespace

bool prefers_open_metrics(std::string_view accept) {
  double open = 0, text = 0;
  for_each_part(accept, ',', [&](std::string_view item) {
    const Range range = range_of(item);
    if (range.type == "application/openmetrics-text" && (range.version.empty() || range.version == "1.0.0"))
      open = std::max(open, range.weight);
    if (range.type == "text/plain") text = std::max(text, range.weight);
  });
  return open > 0 && open >= text;
}

std::string open_metrics(std::string_view text) {
  std::string out, help;  // help: its type follows in the next line
  out.reserve(text.size());
  parse::for_each_line(text, [&](std::string_view line) {
    if (line.empty()) return;
    if (line.starts_with(kHelp)) {
      help = line;
    } else if (line.starts_with(kType)) {
      const bool counter = line.ends_with(" counter");
      if (!help.empty()) append_about(out, help, counter);
      help.clear();
      append_about(out, line, counter);
    } else if (!line.starts_with('#')) {
      append_sample(out, line);
    }
  });
  return out + "# EOF\n";
}

MetricsPage metrics_page(std::string text, const std::map<std::string, std::string>& headers) {
  const auto accept = headers.find("accept");
  if (accept == headers.end() || !prefers_open_metrics(accept->second))
    return {std::string(kTextType), std::move(text)};
  return {std::string(kOpenType), open_metrics(text)};
}

}  // namespace wattle
