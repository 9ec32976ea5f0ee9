#include "tests/patience.hpp"

#include <cstdlib>
#include <thread>

namespace wattle::tests {
namespace {

std::chrono::milliseconds scaled(std::chrono::milliseconds time) {
  static const double factor = [] {
    const char* const set = std::getenv("WATTLE_PATIENCE");
    const double value = set == nullptr ? 1 : std::atof(set);
    return value > 0 ? value : 1;
  }();
  return std::chrono::duration_cast<std::chrono::milliseconds>(time * factor);
}

}  // namespace

std::chrono::milliseconds soon() { return scaled(std::chrono::seconds(30)); }
std::chrono::milliseconds late() { return scaled(std::chrono::minutes(4)); }
std::chrono::milliseconds moment() { return scaled(std::chrono::milliseconds(500)); }

bool wait_until(const std::function<bool()>& event, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!event()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void let_a_moment_pass() { std::this_thread::sleep_for(moment()); }
void pace(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

}  // namespace wattle::tests
