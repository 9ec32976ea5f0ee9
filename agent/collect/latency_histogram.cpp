#include "agent/collect/latency_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
constexpr double kMostRequests = 9e15;  // integers up to here are exact
constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Bucket {
  double requests = 0;
  std::size_t series = 0;
};

bool name_character(char c, bool first) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
  return letter || (!first && c >= '0' && c <= '9');
}

std::string_view take_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

// Removes a quoted text from the beginning and returns it.
std::optional<std::string> take_quoted(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  std::string out;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return out;
    }
    const bool escaped = text[i] == '\\';
    if (escaped && ++i == text.size()) return std::nullopt;
    out += escaped && text[i] == 'n' ? '\n' : text[i];
  }
  return std::nullopt;
}

// Removes "{name="value",...}" from the beginning and returns the labels; fails on a repeated name.
std::optional<std::map<std::string, std::string>> take_labels(std::string_view& text) {
  std::map<std::string, std::string> labels;
  if (!text.starts_with('{')) return labels;
  text = take_blanks(text.substr(1));
  while (!text.starts_with('}')) {
    std::size_t end = 0;
    while (end < text.size() && name_character(text[end], end == 0)) ++end;
    const std::string name(text.substr(0, end));
    text = take_blanks(text.substr(end));
    if (name.empty() || !text.starts_with('=')) return std::nullopt;
    text = take_blanks(text.substr(1));
    auto value = take_quoted(text);
    if (!value || !labels.emplace(name, std::move(*value)).second) return std::nullopt;
    text = take_blanks(text);
    if (text.starts_with(','))
      text = take_blanks(text.substr(1));
    else if (!text.starts_with('}'))
      return std::nullopt;
  }
  text.remove_prefix(1);
  return labels;
}

std::optional<double> bound_of(const std::string& text) {
  if (text == "+Inf" || text == "Inf") return kInfinite;
  return parse::real(text.starts_with('+') ? std::string_view(text).substr(1) : std::string_view(text));
}

// Ignores a timestamp or exemplar after the number.
std::optional<double> count_of(std::string_view text) {
  text = take_blanks(text);
  const auto count = parse::real(text.substr(0, text.find_first_of(" \t\r")));
  if (!count || *count < 0 || *count > kMostRequests) return std::nullopt;
  return std::floor(*count);
}

// Adds one line of the histogram, without its name; returns false if it is invalid.
bool add_line(std::string_view line, const HistogramQuery& query, std::map<double, Bucket>& buckets) {
  line = take_blanks(line);
  const auto labels = take_labels(line);
  if (!labels || !labels->contains("le")) return false;
  const auto bound = bound_of(labels->at("le"));
  const auto count = count_of(line);
  if (!bound || !count) return false;
  const bool wanted = std::ranges::all_of(query.labels, [&](const auto& label) {
    const auto found = labels->find(label.first);
    return found != labels->end() && found->second == label.second;
  });
  if (!wanted) return true;
  Bucket& bucket = buckets[*bound];
  bucket.requests += *count;
  ++bucket.series;
  return true;
}

Result<LateRequests> judge(const std::map<double, Bucket>& buckets, const HistogramQuery& query) {
  const std::string& name = query.name;
  if (buckets.empty())
    return fail(Errc::not_found, name, "is not a histogram of that page, or does not have these labels",
                "use the name of a histogram without the suffix _bucket");
  const auto all = buckets.find(kInfinite);
  if (all == buckets.end()) return fail(Errc::malformed, name, "has no bucket with le=\"+Inf\"");
  const auto above = buckets.upper_bound(query.target_s * (1 + 1e-9));
  if (above == buckets.begin())
    return fail(Errc::out_of_range, name,
                "its first bucket ends at " + std::to_string(above->first) + " s, above the target",
                "use at least this target");
  const auto& [bound_s, within] = *std::prev(above);
  if (within.series != all->second.series)
    return fail(Errc::malformed, name, "has label sets with different bounds", "select some of them with `labels`");
  const double count = all->second.requests;
  if (count > kMostRequests) return fail(Errc::malformed, name, "has too many requests in a bucket");
  if (within.requests > count) return fail(Errc::malformed, name, "has more requests in a bucket than in le=\"+Inf\"");
  LateRequests out;
  out.count = static_cast<std::uint64_t>(count);
  out.over = static_cast<std::uint64_t>(count - within.requests);
  out.bound_s = bound_s;
  return out;
}
}  // namespace

bool valid_metric_name(std::string_view name) {
  if (name.empty() || name.size() > 256 || !name_character(name[0], true)) return false;
  return std::ranges::all_of(name, [](char c) { return name_character(c, false); });
}

Result<LateRequests> read_late_requests(std::string_view page, const HistogramQuery& query) {
  const std::string wanted = query.name + "_bucket";
  std::map<double, Bucket> buckets;
  std::size_t number = 0, lines = 0;
  std::optional<Error> wrong;
  parse::for_each_line(page, [&](std::string_view line) {
    ++number;
    if (wrong || !line.starts_with(wanted)) return;
    line.remove_prefix(wanted.size());
    if (!line.starts_with('{') && !line.starts_with(' ') && !line.starts_with('\t')) return;
    if (++lines > kMaxBucketLines)
      wrong = Error{Errc::out_of_range, query.name, "has more than " + std::to_string(kMaxBucketLines) + " lines", ""};
    else if (!add_line(line, query, buckets))
      wrong = Error{Errc::malformed, query.name, "line " + std::to_string(number) + " of the page is not a bucket", ""};
    else if (buckets.size() > kMaxBounds)
      wrong = Error{Errc::out_of_range, query.name, "has more than " + std::to_string(kMaxBounds) + " bounds", ""};
  });
  if (wrong) return tl::unexpected<Error>(std::move(*wrong));
  return judge(buckets, query);
}

}  // namespace wattle::agent
