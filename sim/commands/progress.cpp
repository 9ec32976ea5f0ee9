#include "sim/commands/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace wattle::sim::commands {

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (terminal_ && tenths_ >= 0) std::fputc('\n', stderr);
}

void ProgressBar::show(double done, const std::string& next) {
  const int percent = static_cast<int>(100 * std::clamp(done, 0.0, 1.0));
  if (terminal_) {
    constexpr int kWidth = 40;
    std::string bar(static_cast<std::size_t>(kWidth * percent / 100), '#');
    bar.resize(kWidth, '.');
    std::fprintf(stderr, "\r[%s] %3d%%  %-40.40s", bar.c_str(), percent, next.c_str());
    std::fflush(stderr);
  } else if (percent / 10 > tenths_) {
    std::fprintf(stderr, "%3d%%  %s\n", percent, next.c_str());
  }
  tenths_ = std::max(tenths_, percent / 10);
}

}  // namespace wattle::sim::commands
