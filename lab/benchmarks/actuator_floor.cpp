// actuator_floor: measures the cost of the file reads in wattle-actuator's loop. Reads each file every 100 ms, and
// those after "--" every 500 ms, as actuator/meter.cpp does, and discards the content. lab/benchmarks/actuator_cost.py
// runs it together with the actuator.
//   actuator_floor SECONDS FILE... [-- FILE...]      prints its share of one core
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "common/parse.hpp"

namespace {
double clock_s(clockid_t id) {
  timespec time{};
  ::clock_gettime(id, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

bool read_all(const std::vector<int>& fds) {
  std::array<char, 8192> buffer;
  for (const int fd : fds)
    if (::pread(fd, buffer.data(), buffer.size(), 0) <= 0) return false;
  return true;
}
}  // namespace

int main(int argc, char** argv) {
  const auto seconds = argc > 2 ? wattle::parse::real(argv[1]) : std::nullopt;
  if (!seconds || *seconds <= 0) {
    std::fputs("usage: actuator_floor SECONDS FILE... [-- FILE...]\n", stderr);
    return 2;
  }
  std::vector<int> often, seldom;
  auto* to = &often;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") {
      to = &seldom;
      continue;
    }
    to->push_back(::open(argv[i], O_RDONLY | O_CLOEXEC));
    if (to->back() < 0) {
      std::perror(argv[i]);
      return 1;
    }
  }
  timespec next{};
  ::clock_gettime(CLOCK_MONOTONIC, &next);
  const double begun_s = clock_s(CLOCK_MONOTONIC), cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  for (long tick = 0; clock_s(CLOCK_MONOTONIC) - begun_s < *seconds; ++tick) {
    if (!read_all(often) || (tick % 5 == 0 && !read_all(seldom))) {
      std::perror("read");
      return 1;
    }
    next.tv_nsec += 100'000'000;
    if (next.tv_nsec >= 1'000'000'000) {
      next.tv_nsec -= 1'000'000'000;
      ++next.tv_sec;
    }
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
  }
  std::printf("%.5f\n", (clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s) / (clock_s(CLOCK_MONOTONIC) - begun_s));
  return 0;
}
