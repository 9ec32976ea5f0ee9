// One process under a CPU quota: PSI pressure of the cgroup, and the part of it that is not throttling. Uses cgroup v2,
// or v1's CPU controller beside a v2 hierarchy for pressure. Prints the measurements; skipped, with the reason printed,
// if neither can be created.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/clock.hpp"
#include "common/parse.hpp"
#include "common/psi.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}
bool put(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  return static_cast<bool>(out.flush());
}
bool has_word(const std::string& text, const std::string& word) {
  return (" " + text).find(" " + word) != std::string::npos;
}

struct Reading {
  MonoTime at{};
  double stalled_us = 0, throttled_us = 0, used_us = 0;
};

// The weight gives the process its 0.3 cores before other processes.
class Limited {
 public:
  static std::optional<Limited> make() {
    for (const fs::path root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      if (!fs::exists(root / "cgroup.controllers")) continue;
      const std::string name = "wattle-throttled-" + std::to_string(::getpid());
      Limited made;
      made.pressure_ = root / name;
      const bool v2 = has_word(text_of(root / "cgroup.subtree_control"), "cpu");
      made.limit_ = v2 ? made.pressure_ : fs::path("/sys/fs/cgroup/cpu") / name;
      std::error_code failed;
      fs::create_directory(made.pressure_, failed);
      if (!v2 && !fs::exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") && !fs::exists("/sys/fs/cgroup/cpu/cpu.shares"))
        return std::nullopt;
      if (!v2) fs::create_directory(made.limit_, failed);
      const bool set = v2 ? put(made.limit_ / "cpu.max", "30000 100000") && put(made.limit_ / "cpu.weight", "10000")
                          : put(made.limit_ / "cpu.cfs_period_us", "100000") &&
                                put(made.limit_ / "cpu.cfs_quota_us", "30000") &&
                                put(made.limit_ / "cpu.shares", "262144");
      if (set && parse_psi(text_of(made.pressure_ / "cpu.pressure")).some_us) return made;
    }
    return std::nullopt;
  }
  Limited(Limited&& other) noexcept
      : pressure_(std::move(other.pressure_)), limit_(std::move(other.limit_)), pid_(std::exchange(other.pid_, -1)) {
    other.pressure_.clear();
  }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  ~Limited() {
    if (pressure_.empty()) return;
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    // The kernel releases dead processes a moment later.
    tests::wait_until([&] { return gone(pressure_) && gone(limit_); });
  }

  bool spin() {
    pid_ = ::fork();
    if (pid_ == 0)
      for (volatile int turns = 0;;) static_cast<void>(turns);
    const std::string pid = std::to_string(pid_);
    return put(pressure_ / "cgroup.procs", pid) && put(limit_ / "cgroup.procs", pid);
  }
  Reading read(const Clock& clock) const {
    Reading now;
    now.stalled_us = static_cast<double>(parse_psi(text_of(pressure_ / "cpu.pressure")).some_us.value_or(0));
    now.used_us = number(pressure_ / "cpu.stat", "usage_usec");
    const std::string stat = text_of(limit_ / "cpu.stat");
    const auto v1_ns = parse::keyed_u64(stat, "throttled_time");
    now.throttled_us = v1_ns ? static_cast<double>(*v1_ns) / 1000 : number(limit_ / "cpu.stat", "throttled_usec");
    now.at = clock.mono();
    return now;
  }

 private:
  Limited() = default;
  static double number(const fs::path& file, const char* key) {
    return static_cast<double>(parse::keyed_u64(text_of(file), key).value_or(0));
  }
  static bool gone(const fs::path& folder) { return ::rmdir(folder.c_str()) == 0 || !fs::exists(folder); }

  fs::path pressure_, limit_;
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("time that a CPU limit throttles counts as kernel pressure, but not as waiting") {
  auto limited = Limited::make();
  if (!limited) {
    std::printf("[skipped] no cgroup with a CPU quota and pressure can be created here\n");
    return;
  }
  REQUIRE(limited->spin());
  const SystemClock clock;
  const Reading before = limited->read(clock);
  Reading after = before;
  // Runs until the process was throttled for a second. On a busy machine it runs less and is throttled later.
  tests::wait_until(
      [&] {
        after = limited->read(clock);
        return after.throttled_us - before.throttled_us >= 1e6;
      },
      tests::late());
  const double passed_us = seconds(after.at - before.at) * 1e6;
  const auto share = [&](double Reading::*what) { return (after.*what - before.*what) / passed_us; };
  const double some = share(&Reading::stalled_us), throttled = share(&Reading::throttled_us),
               used = share(&Reading::used_us), waits = waiting_share(some, throttled, used);
  std::printf("PSI cpu some %.3f, throttled %.3f cores, used %.3f cores: waiting %.3f\n", some, throttled, used, waits);
  if (after.throttled_us - before.throttled_us < 1e6) {
    std::printf("[skipped] the machine is too busy for the limit to throttle the process\n");
    return;
  }
  CHECK(some > 0.8 * throttled);
  CHECK(waits < some - 0.8 * throttled);
}
