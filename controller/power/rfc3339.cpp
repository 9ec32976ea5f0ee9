#include "controller/power/rfc3339.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace wattle::controller::power {

std::string rfc3339_text(WallTime at) {
  namespace chrono = std::chrono;
  const auto since = chrono::floor<chrono::microseconds>(at.time_since_epoch());
  const auto days = chrono::floor<chrono::days>(since);
  const chrono::year_month_day date{chrono::sys_days(days)};
  const chrono::hh_mm_ss time{since - days};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return text.data();
}

}  // namespace wattle::controller::power
