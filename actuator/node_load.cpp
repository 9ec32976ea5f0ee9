#include "actuator/node_load.hpp"

#include <algorithm>

#include "actuator/throttled_wait.hpp"
#include "common/parse.hpp"
#include "common/psi.hpp"
#include "provision/student/student.hpp"

namespace wattle::actuator {

std::optional<CpuTimes> parse_proc_stat(std::string_view text) {
  const auto words = parse::fields(text.substr(0, text.find('\n')));
  if (words.size() < 6 || words[0] != "cpu") return std::nullopt;
  CpuTimes times;
  // Fields: user nice system idle iowait irq softirq steal; user includes guests.
  for (std::size_t i = 1; i < std::min<std::size_t>(words.size(), 9); ++i) {
    const auto ticks = parse::u64(words[i]);
    if (!ticks) return std::nullopt;
    times.all += *ticks;
    if (i == 4 || i == 5) times.idle += *ticks;
  }
  return times;
}

std::optional<double> parse_online_cpus(std::string_view text) {
  double cpus = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    if (end == std::string_view::npos) return std::nullopt;
    const auto line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with("cpu")) return cpus > 0 ? std::optional(cpus) : std::nullopt;
    if (!line.starts_with("cpu ")) ++cpus;
  }
  return std::nullopt;
}

Result<NodeLoad> NodeLoad::open_(const std::string& proc, double cores) {
  WATTLE_TRY(Dir dir, Dir::open_(proc));
  NodeLoad load(std::move(dir), cores);
  WATTLE_TRY(load.stat_, load.dir_.open_fd("stat"));
  if (auto pressure = load.dir_.open_fd("pressure/cpu")) load.pressure_ = std::move(*pressure);
  return load;
}

Status NodeLoad::read(MonoTime now, std::uint64_t throttled_us) {
  WATTLE_TRY(const auto text, dir_.read_once_into(stat_, "stat", buffer_));
  const auto times = parse_proc_stat(text);
  if (!times) return fail(Errc::malformed, dir_.path() + "/stat", "does not start with the times of all CPUs");
  if (const auto online = parse_online_cpus(text)) cores_ = *online;
  std::optional<std::uint64_t> some_us;
  if (pressure_.valid())
    if (const auto pressure = dir_.read_once_into(pressure_, "pressure/cpu", buffer_))
      some_us = parse_psi(*pressure).some_us;
  if (times_ && times->all > times_->all && times->idle >= times_->idle && now > at_) {
    const double idle = static_cast<double>(times->idle - times_->idle) / static_cast<double>(times->all - times_->all);
    double pressure = 0;
    if (some_us && some_us_ && *some_us >= *some_us_) {
      const double elapsed_s = seconds(now - at_);
      const double throttled_s = static_cast<double>(throttled_us - std::min(throttled_us, throttled_us_)) / 1e6;
      const double own_s = throttled_wait_s(throttled_s, cores_ * (1 - idle) * elapsed_s, elapsed_s);
      pressure = std::max(0.0, static_cast<double>(*some_us - *some_us_) / 1e6 - own_s) / elapsed_s;
    }
    headroom_cores_ = actuator::headroom_cores(cores_, idle, pressure);
  }
  times_ = times;
  some_us_ = some_us;
  throttled_us_ = throttled_us;
  at_ = now;
  return {};
}

}  // namespace wattle::actuator
