#include "controller/decisions/contender.hpp"

#include <cmath>
#include <cstdio>
#include <string_view>

namespace wattle::controller {

namespace {

// "0.3% less", "1.2% more"
std::string beside(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * std::abs(ratio));
  return text + std::string(ratio > 0 ? " more" : " less");
}

// "3.1% less energy per unit of work than node-order [-4.4, -1.8], measured in 12 groups of blocks"
std::string measured_text(const MeasuredDifference& one) {
  std::string text = beside(one.ratio) + " energy per unit of work than " + one.floor;
  if (one.low && one.high) {
    char interval[64];
    std::snprintf(interval, sizeof interval, " [%+.1f, %+.1f]", 100 * *one.low, 100 * *one.high);
    text += interval;
  }
  text += ", measured in " + std::to_string(one.groups) + (one.groups == 1 ? " group" : " groups") + " of blocks";
  return one.low ? text : text + ", too few for a verdict";
}

}  // namespace

std::string contender_text(const Contender& one) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? ": " : "; ") + part;
  };
  add(one.certificate);
  add(one.why);
  if (one.measured) add(measured_text(*one.measured));
  const std::string_view state = one.state ? stats::words(*one.state) : one.serves ? "is in use" : "is not in use";
  return one.who + " " + std::string(state) + text;
}

}  // namespace wattle::controller
