// config_words: texts for numbers, bounds and defaults, for error messages and the reference of the configuration.
// Threads  pure
#pragma once

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "common/config.hpp"

namespace wattle::config {

inline std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return std::to_string(static_cast<std::int64_t>(value));
  std::ostringstream text;
  text.precision(15);
  text << value;
  return text.str();
}

inline std::string range_text(const Bounds& bounds) {
  const std::string unit = bounds.unit == Unit::seconds ? " s" : "";
  if (std::isinf(bounds.min)) return "at most " + number_text(bounds.max) + unit;
  if (std::isinf(bounds.max)) return "at least " + number_text(bounds.min) + unit;
  return number_text(bounds.min) + " to " + number_text(bounds.max) + unit;
}

// Default for the reference; empty if it is out of its own range, which means "none".
inline std::string standing_text(double value, const Bounds& bounds) {
  if (value < bounds.min || value > bounds.max) return {};
  return number_text(value) + (bounds.unit == Unit::seconds && value != 0 ? "s" : "");
}
inline std::string known_range(const Bounds& bounds) {
  return std::isinf(bounds.min) && std::isinf(bounds.max) ? std::string() : range_text(bounds);
}
template <class Items>
std::string joined(const Items& items, std::string_view between) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : std::string(between)) + std::string(item);
  return text;
}

}  // namespace wattle::config
