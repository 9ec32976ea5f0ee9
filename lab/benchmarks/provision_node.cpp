// provision_node: helper of lab/benchmarks/provision_real.py, which compares ways to set CPU limits on this machine's
// kernel.
//   provision_node set CONTESTANT SETTING CORES CGROUP...   runs the code of a contestant of `wattle-lab provision` on
//                                                           real cgroups every 100 ms until SIGTERM; only for
//                                                           contestants that need no request latency
//   provision_node meter SECONDS CGROUP...                  measures granted and used cores; one JSON line per cgroup
//   provision_node serve PORT WORK_MS                       serves HTTP requests of log-normal work, whose standard
//                                                           deviation equals its mean
// Granted  the quota over time, plus, at each write, the quota used since the last refill, because a write refills the
//          quota; sampled every 4 ms
// Used     read from the cgroup's files; a cgroup is named by its path below the mount, v2 or v1
// Exit     0 success; 1 a cgroup does not exist or the kernel refuses a write; 2 usage error
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "actuator/cgroup_limits.hpp"
#include "actuator/meter.hpp"
#include "common/clock.hpp"
#include "common/http/server.hpp"
#include "common/parse.hpp"
#include "common/stop_signal.hpp"
#include "lab/contestants/contestants.hpp"

using namespace wattle;
using namespace wattle::actuator;
using namespace wattle::sim::provision;

namespace {
constexpr double kMicro = 1e-6;

struct Group {
  Target target;
  Meter meter;
};

Result<std::vector<Group>> open_groups(CgroupLimits& limits, const std::vector<std::string>& names) {
  std::vector<Group> out;
  for (const std::string& name : names) {
    WATTLE_TRY(Target target, limits.find(name));
    WATTLE_TRY(Meter meter, Meter::open_(limits, target));
    out.push_back({std::move(target), std::move(meter)});
  }
  return out;
}

Status set_limits(CgroupLimits& limits, const std::vector<std::string>& words, StopSignal& stop) {
  const Contestant* contestant = find_contestant(words[0]);
  const auto setting = parse::real(words[1]), cores = parse::real(words[2]);
  if (contestant == nullptr || !setting || !cores)
    return fail(Errc::malformed, words[0] + " " + words[1] + " " + words[2], "is not contestant, setting and cores");
  const std::vector<std::string> names(words.begin() + 3, words.end());
  WATTLE_TRY(std::vector<Group> groups, open_groups(limits, names));
  WorldOptions world;
  world.services = groups.size();
  world.cores = world.first_cores = *cores;
  const auto provisioner = contestant->prepare(world, *setting)(world.seed);
  std::vector<ServiceReading> services(groups.size());
  std::vector<CpuUse> last(groups.size());
  std::vector<std::optional<CpuLimit>> next(groups.size());
  const SystemClock clock;
  const MonoTime begun = clock.mono();
  MonoTime at = begun;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    WATTLE_TRY(last[i], groups[i].meter.cpu());
    services[i].set = plain_limit(*cores);
    WATTLE_CHECK(limits.write(groups[i].target, Knob::quota_us, services[i].set->quota_us));
  }
  while (!stop.wait(at + std::chrono::milliseconds(100) - clock.mono())) {
    const MonoTime now = clock.mono();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      WATTLE_TRY(const CpuUse use, groups[i].meter.cpu());
      services[i].used_s = static_cast<double>(use.used_us - last[i].used_us) * kMicro;
      services[i].throttled_periods = use.throttled - last[i].throttled;
      last[i] = use;
    }
    std::ranges::fill(next, std::nullopt);
    provisioner->tick({seconds(now - begun), seconds(now - at), *cores, world.target_s, services, nullptr}, next);
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (next[i]) {
        WATTLE_CHECK(limits.write(groups[i].target, Knob::quota_us, next[i]->quota_us));
        services[i].set = next[i];
      }
    at = now;
  }
  return {};
}

struct Granted {
  double cores_s = 0, refilled_s = 0;
  std::uint64_t writes = 0, periods = 0, used_at_fill_us = 0;
  std::int64_t quota_us = 0;
  CpuUse first, last;
};

Status meter(CgroupLimits& limits, const std::vector<std::string>& words, StopSignal& stop) {
  const auto span_s = parse::real(words[0]);
  if (!span_s || *span_s <= 0) return fail(Errc::malformed, words[0], "is not a number of seconds above 0");
  const std::vector<std::string> names(words.begin() + 1, words.end());
  WATTLE_TRY(std::vector<Group> groups, open_groups(limits, names));
  const auto cores = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  std::vector<Granted> all(groups.size());
  const SystemClock clock;
  const MonoTime begun = clock.mono();
  MonoTime at = begun;
  for (bool first = true; first || seconds(at - begun) < *span_s; first = false) {
    if (!first && stop.wait(std::chrono::milliseconds(4))) break;
    const MonoTime now = clock.mono();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Granted& of = all[i];
      WATTLE_TRY(const CpuUse use, groups[i].meter.cpu());
      WATTLE_TRY(const std::int64_t quota_us, limits.read(groups[i].target, Knob::quota_us));
      if (first) of.first = of.last = use;
      const double limit = quota_us == kUnlimited ? cores : CpuLimit{quota_us, 0}.cores();
      of.cores_s += limit * seconds(now - at);
      if (!first && quota_us != of.quota_us) {
        ++of.writes;
        of.refilled_s += std::min(static_cast<double>(use.used_us - of.used_at_fill_us), limit * kPeriodUs) * kMicro;
      }
      if (first || quota_us != of.quota_us || use.periods != of.periods) of.used_at_fill_us = use.used_us;
      of.quota_us = quota_us;
      of.periods = use.periods;
      of.last = use;
    }
    at = now;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double lasted_s = seconds(at - begun);
    const auto periods = static_cast<double>(all[i].last.periods - all[i].first.periods);
    std::printf(
        R"({"cgroup": "%s", "seconds": %.3f, "limit_cores": %.5f, "granted_cores": %.5f, "used_cores": %.5f, "throttled_ratio": %.5f, "writes_per_minute": %.2f})"
        "\n",
        names[i].c_str(), lasted_s, all[i].cores_s / lasted_s, (all[i].cores_s + all[i].refilled_s) / lasted_s,
        static_cast<double>(all[i].last.used_us - all[i].first.used_us) * kMicro / lasted_s,
        periods > 0 ? static_cast<double>(all[i].last.throttled - all[i].first.throttled) / periods : 0.0,
        static_cast<double>(all[i].writes) * 60 / lasted_s);
  }
  return {};
}

double cpu_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Burns CPU time rather than wall time, so that waiting for a CPU and throttling do not reduce the work.
http::Response work(double mean_s) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  const double sigma = std::sqrt(std::log(2.0));
  std::lognormal_distribution<double> of(std::log(mean_s) - sigma * sigma / 2, sigma);
  const double until = cpu_s() + of(random);
  while (cpu_s() < until) {
  }
  return {200, "text/plain", "done\n"};
}

Status serve(const std::vector<std::string>& words, StopSignal& stop) {
  const auto port = parse::u64(words[0]);
  const auto work_ms = parse::real(words[1]);
  if (!port || *port > 65535 || !work_ms || *work_ms <= 0)
    return fail(Errc::malformed, words[0] + " " + words[1], "is not a port and a mean work in ms");
  http::ServerOptions options;
  options.port = static_cast<std::uint16_t>(*port);
  options.threads = 16;
  options.max_connections = options.max_per_source = 256;
  const Log log = Log::silent();
  WATTLE_TRY(const http::Server server,
             http::Server::start(
                 options, {{"GET /", [mean_s = *work_ms * 1e-3](const http::Request&) { return work(mean_s); }}}, log));
  while (!stop.wait(std::chrono::hours(1))) {
  }
  return {};
}

Status go(const std::string& verb, const std::vector<std::string>& words) {
  WATTLE_TRY(StopSignal stop, StopSignal::open_());
  if (verb == "serve") return serve(words, stop);
  Os os;
  WATTLE_TRY(CgroupMounts mounts, CgroupMounts::open_(""));
  CgroupLimits limits(std::move(mounts), os);
  return verb == "set" ? set_limits(limits, words, stop) : meter(limits, words, stop);
}
}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const std::vector<std::string> words(argv + std::min(argc, 2), argv + argc);
  const std::size_t least = verb == "set" ? 4 : verb == "meter" || verb == "serve" ? 2 : words.size() + 1;
  if (words.size() < least) {
    std::fputs(
        "usage: provision_node set CONTESTANT SETTING CORES CGROUP... | meter SECONDS CGROUP... | serve PORT WORK_MS\n",
        stderr);
    return 2;
  }
  if (const Status done = go(verb, words); !done) {
    std::fprintf(stderr, "provision_node: %s\n", done.error().message().c_str());
    return 1;
  }
  return 0;
}
