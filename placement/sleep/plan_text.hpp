// plan_text: formats values for the reasons of a plan: "3.5 cores", "2.4 h", "1.2 MJ".
// Errors   none
// Threads  pure functions
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace wattle::placement::sleep {

inline std::string value_text(double value, const char* unit) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", std::abs(value) < 10 ? 1 : 0, value, unit);
  return text.data();
}

inline std::string cores_text(double cores) { return value_text(cores, "cores"); }

inline std::string time_text(double time_s) {
  if (time_s < 120) return value_text(time_s, "s");
  return time_s < 7200 ? value_text(time_s / 60, "min") : value_text(time_s / 3600, "h");
}

inline std::string joules_text(double joules) {
  return std::abs(joules) < 1e6 ? value_text(joules / 1e3, "kJ") : value_text(joules / 1e6, "MJ");
}

}  // namespace wattle::placement::sleep
