#include "common/stats/interval.hpp"

#include <cstdio>

namespace wattle::stats {

namespace {
std::string number_text(double value, const NumberForm& form) {
  char text[64];
  std::snprintf(text, sizeof text, form.sign ? "%+.*f" : "%.*f", form.decimals, form.scale * value);
  return text;
}
}  // namespace

std::string range_text(const Interval& interval, const NumberForm& form) {
  if (!interval.known()) return "[needs " + std::to_string(kLeastSeeds) + " seeds]";
  return "[" + number_text(interval.low, form) + ", " + number_text(interval.high, form) + "]";
}

std::string interval_text(const Interval& interval, const NumberForm& form) {
  return number_text(interval.mean, form) + form.unit + " " + range_text(interval, form);
}

std::string seeds_note(std::size_t seeds, const std::string& option) {
  if (enough_seeds(seeds)) return {};
  return "no interval and no verdict: " + std::to_string(seeds) + (seeds == 1 ? " seed" : " seeds") +
         ", and at least " + std::to_string(kLeastSeeds) + " independent ones are needed (" + option + " " +
         std::to_string(kLeastSeeds) + ")\n";
}

}  // namespace wattle::stats
