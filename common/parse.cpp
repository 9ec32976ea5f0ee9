#include "common/parse.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace wattle::parse {

std::optional<double> real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> fields(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto begin = text.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    const auto end = text.find_first_of(" \t", begin);
    found.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    at = end == std::string_view::npos ? text.size() : end;
  }
  return found;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> found;
  for (;;) {
    const auto end = text.find(at);
    found.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return found;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint64_t> keyed_u64(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > key.size() && line[key.size()] == ' ' && line.starts_with(key))
      if (const auto value = u64(trim(line.substr(key.size() + 1)))) return value;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

namespace {
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Like real(), but a number that is too large for a double is infinite.
std::optional<double> maybe_infinite(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error != std::errc::result_out_of_range) return real(text);
  if (text.find("e-") != text.npos || text.find("E-") != text.npos) return 0;
  return text.starts_with('-') ? -kInfinite : kInfinite;
}

template <std::size_t N>
std::optional<double> with_suffix(std::string_view text,
                                  const std::array<std::pair<std::string_view, double>, N>& units) {
  std::size_t digits = 0;
  while (digits < text.size() && (text[digits] == '.' || (text[digits] >= '0' && text[digits] <= '9'))) ++digits;
  const auto number = maybe_infinite(text.substr(0, digits));
  if (!number) return std::nullopt;
  const auto suffix = text.substr(digits);
  for (const auto& [name, factor] : units)
    if (suffix == name) return *number * factor;
  return std::nullopt;
}
}  // namespace

std::optional<double> quantity(std::string_view text) {
  constexpr double kMost = 9223372036854775807.0;  // Kubernetes caps quantities at 2^63-1
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  // Decimal exponents are accepted, too: 1e3 and, unlike the unit E, 1E3.
  if (const auto plain = maybe_infinite(text); plain && *plain >= 0) return std::min(*plain, kMost);
  static constexpr std::array<std::pair<std::string_view, double>, 16> kUnits{{{"", 1},
                                                                               {"n", 1e-9},
                                                                               {"u", 1e-6},
                                                                               {"m", 1e-3},
                                                                               {"k", 1e3},
                                                                               {"M", 1e6},
                                                                               {"G", 1e9},
                                                                               {"T", 1e12},
                                                                               {"P", 1e15},
                                                                               {"E", 1e18},
                                                                               {"Ki", 1024.0},
                                                                               {"Mi", 1048576.0},
                                                                               {"Gi", 1073741824.0},
                                                                               {"Ti", 1099511627776.0},
                                                                               {"Pi", 1125899906842624.0},
                                                                               {"Ei", 1152921504606846976.0}}};
  const auto amount = with_suffix(text, kUnits);
  return amount ? std::optional(std::min(*amount, kMost)) : std::nullopt;
}

std::optional<double> duration_s(std::string_view text) {
  if (const auto plain = real(text); plain && *plain == 0) return 0.0;
  static constexpr std::array<std::pair<std::string_view, double>, 6> kUnits{
      {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}}};
  const auto span_s = with_suffix(text, kUnits);
  return span_s && std::isfinite(*span_s) ? span_s : std::nullopt;
}

bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xF0 && lead <= 0xF4  ? 4
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                                                             : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) || (lead == 0xF0 && second < 0x90) ||
        (lead == 0xF4 && second >= 0x90))
      return false;
    i += length;
  }
  return true;
}

}  // namespace wattle::parse
