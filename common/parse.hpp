// parse: text to values, for kernel files and options. Pure, never throws; returns std::nullopt for text that does not
// parse.
// Threads  any
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace wattle::parse {

// Parses an integer; the text must contain nothing else.
template <class Integer>
std::optional<Integer> integer(std::string_view text, int base = 10) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}
inline std::optional<std::uint64_t> u64(std::string_view text) { return integer<std::uint64_t>(text); }

// Parses a finite decimal number; the text must contain nothing else.
std::optional<double> real(std::string_view text);

std::string_view trim(std::string_view text);

// Splits at runs of spaces and tabs; no empty fields.
std::vector<std::string_view> fields(std::string_view text);

// Splits at a character; keeps empty fields.
std::vector<std::string_view> split(std::string_view text, char at);

// Calls f(line) for each line, without its newline.
template <class F>
void for_each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    f(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// The number after "key " at the start of a line, as in cpu.stat and memory.stat.
std::optional<std::uint64_t> keyed_u64(std::string_view text, std::string_view key);

// Parses a Kubernetes quantity as cores or bytes: "250m", "1.5", "64Mi", "1G". Rejects negative values and unknown
// suffixes.
std::optional<double> quantity(std::string_view text);

// Parses a duration in seconds: "250ms", "1s", "1.5s", "2m", "1h". Only 0 needs no unit.
std::optional<double> duration_s(std::string_view text);

// Checks for well-formed UTF-8: no overlong forms, no surrogates, no code point above U+10FFFF.
bool is_utf8(std::string_view text);

}  // namespace wattle::parse
