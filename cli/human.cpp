#include "cli/human.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>

#include "common/formatted.hpp"

namespace wattle::cli {

namespace {
const std::string kNothing(kAbsent);

std::string two_digits(std::int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); }

template <std::size_t N>
std::string scaled(double value, double step, const std::array<const char*, N>& units) {
  std::size_t unit = 0;
  // Compares the rounded value: 1023.97 KiB would be shown as "1024.0 KiB".
  while (unit + 1 < N && std::abs(value) >= step - (unit == 0 ? 0.5 : 0.05)) {
    value /= step;
    ++unit;
  }
  return number(value, unit == 0 ? 0 : 1) + " " + units[unit];
}
}  // namespace

std::string number(std::optional<double> value, int digits) {
  if (!value || !std::isfinite(*value)) return kNothing;
  std::string out = fixed(*value, digits);
  return out.find_first_not_of("-0.") == std::string::npos && out.front() == '-' ? out.substr(1) : out;
}

std::string count(std::optional<double> value) { return number(value, 0); }

std::string bytes(std::optional<double> value) {
  if (!value) return kNothing;
  return scaled(*value, 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string bytes_per_s(std::optional<double> value) { return value ? bytes(value) + "/s" : kNothing; }

std::string percent(std::optional<double> ratio) {
  if (!ratio) return kNothing;
  const double value = *ratio * 100;
  return number(value, value != 0 && std::abs(value) < 9.95 ? 1 : 0) + "%";
}

std::string milliseconds(std::optional<double> value) { return value ? number(value, 1) + " ms" : kNothing; }

std::string microseconds(std::optional<double> value) {
  if (!value) return kNothing;
  return *value < 999.5 ? number(value, 0) + " us" : number(*value / 1000, 1) + " ms";
}

std::string joules(std::optional<double> value) {
  return value ? scaled(*value, 1000, std::array{"J", "kJ", "MJ", "GJ"}) : kNothing;
}

std::string money(std::optional<double> value, const std::string& currency) {
  if (!value) return kNothing;
  constexpr double kSmall = 1, kLeast = 0.00005;
  const double size = std::abs(*value);
  if (size > 0 && size < kLeast) return "<0.0001 " + currency;
  return number(value, size > 0 && size < kSmall ? 4 : 2) + " " + currency;
}

std::string grams(std::optional<double> value_g) {
  if (!value_g) return kNothing;
  constexpr double kLeast_g = 0.005;
  if (*value_g == 0) return "0 g";
  if (std::abs(*value_g) < kLeast_g) return "<0.01 g";
  constexpr double kPerKilogram = 1000;
  if (std::abs(*value_g) < kPerKilogram) return number(value_g, std::abs(*value_g) < 10 ? 2 : 0) + " g";
  return number(*value_g / kPerKilogram, 1) + " kg";
}

std::string age(std::optional<double> value_ms) {
  if (!value_ms || !std::isfinite(*value_ms) || std::abs(*value_ms) > 1e15) return kNothing;
  if (*value_ms < 999.5) return number(value_ms, 0) + "ms";
  const auto seconds = static_cast<std::int64_t>(std::llround(*value_ms / 1000));
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m" + two_digits(seconds % 60) + "s";
  if (seconds < 86400) return std::to_string(seconds / 3600) + "h" + two_digits(seconds / 60 % 60) + "m";
  return std::to_string(seconds / 86400) + "d" + two_digits(seconds / 3600 % 24) + "h";
}

std::string watts(std::optional<double> value, std::string_view source) {
  if (!value) return kNothing;
  std::string text = number(value, 1) + " W";
  if (!source.empty()) text += " " + std::string(source == "estimated" ? "est" : source);
  return text;
}

std::string age_s(std::optional<double> value_s) {
  return age(value_s ? std::optional(*value_s * 1000) : std::nullopt);
}

std::string utc_s(std::optional<double> wall_s) {
  if (!wall_s || !std::isfinite(*wall_s) || *wall_s < 0 || *wall_s > 9.2e9) return kNothing;
  const auto at = static_cast<std::time_t>(*wall_s);
  std::tm parts{};
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", ::gmtime_r(&at, &parts))};
}

std::string utc(std::optional<double> wall_ns) { return utc_s(wall_ns ? std::optional(*wall_ns / 1e9) : std::nullopt); }

}  // namespace wattle::cli
