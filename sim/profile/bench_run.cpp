#include "sim/profile/bench_run.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "common/dir.hpp"
#include "common/http/client.hpp"
#include "common/http/url.hpp"
#include "load/group_use.hpp"

namespace wattle::sim::profile {
namespace {

constexpr std::size_t kMostSaid = 8 << 20;
constexpr Duration kStart = std::chrono::seconds(30);
constexpr Duration kBeyond = std::chrono::seconds(30);  // requests are given up 10 s after they are due
constexpr Duration kLongestSample = std::chrono::seconds(60);
constexpr auto kLook = std::chrono::milliseconds(20);

std::string milliseconds_text(Duration span) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count()) + "ms";
}

std::string last_words(const std::string& file) {
  const auto said = read_file(file, kMostSaid);
  if (!said || said->empty()) return "no output";
  return "it said: " + said->substr(said->size() - std::min<std::size_t>(said->size(), 400));
}

}  // namespace

Result<BenchRun> BenchRun::start(const BenchOptions& options) {
  WATTLE_TRY(std::string load_program, load::find_program("wattle-load", options.programs));
  WATTLE_TRY(QuotaGroup group, QuotaGroup::make(options.group));
  std::string folder = (std::filesystem::temp_directory_path() / "wattle-profile-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return fail_errno(errno, folder);
  WATTLE_TRY(load::Processes processes, load::Processes::open_(folder));
  BenchRun run(options, std::move(group), std::move(processes));
  run.load_program_ = std::move(load_program);
  if (const auto agent = load::find_program("wattle-agent", options.programs)) run.agent_program_ = *agent;
  WATTLE_CHECK(run.group_.set(static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)))));
  // The shell enters the cgroup, and becomes the service.
  std::vector<std::string> words{"-c", "echo $$ > \"$0\" && exec \"$@\"", run.group_.members_file()};
  words.insert(words.end(), options.service.begin(), options.service.end());
  WATTLE_TRY(run.service_, run.processes_.start("/bin/sh", words, "service"));
  WATTLE_CHECK(run.await_service());
  return run;
}

Status BenchRun::still_there() {
  const auto status = processes_.ended(service_);
  if (!status) return {};
  return fail(Errc::unavailable, options_.service.front(),
              "ended with status " + std::to_string(*status) + "; " + last_words(processes_.folder() + "/service"),
              "use arguments that keep it in the foreground");
}

Status BenchRun::await_service() {
  WATTLE_TRY(const http::Url url, http::parse_url(options_.url, "for example http://127.0.0.1:8080/"));
  http::Client client(url.origin);
  const SystemClock clock;
  for (const MonoTime until = clock.mono() + kStart; clock.mono() < until; ::usleep(50'000)) {
    WATTLE_CHECK(still_there());
    if (client.request("GET", url.target, "", std::chrono::seconds(2))) return {};
  }
  return fail(Errc::timeout, options_.url,
              "does not answer within 30 s; " + last_words(processes_.folder() + "/service"),
              "check that the service listens on it");
}

Status BenchRun::await(pid_t group, const std::string& name, Duration patience) {
  const SystemClock clock;
  for (const MonoTime until = clock.mono() + patience; clock.mono() < until;) {
    WATTLE_CHECK(still_there());
    if (processes_.ended(group)) return {};
    ::usleep(static_cast<useconds_t>(std::chrono::microseconds(kLook).count()));
  }
  return fail(Errc::timeout, name, "does not end; " + last_words(processes_.folder() + "/" + name));
}

Result<std::string> BenchRun::ask(const Cell& cell, Duration span, const std::string& said_in) {
  WATTLE_TRY(const pid_t users, processes_.start(load_program_,
                                                 {"http", options_.url, "--rate", std::to_string(cell.rate_rps),
                                                  "--for", milliseconds_text(span), "-o", "json"},
                                                 said_in));
  WATTLE_CHECK(await(users, said_in, span + kBeyond));
  return read_file(processes_.folder() + "/" + said_in, kMostSaid);
}

Result<Measured> BenchRun::measure(const Cell& cell) {
  WATTLE_CHECK(group_.set(cell.quota_cores));
  if (options_.settle > Duration(0)) {
    // The settle phase is not measured.
    WATTLE_TRY(const std::string ignored, ask(cell, options_.settle, "settle"));
  }
  WATTLE_TRY(const Dir proc, Dir::open_("/proc"));
  const std::string samples = processes_.folder() + "/samples";
  std::error_code none;
  std::filesystem::remove(samples, none);
  std::optional<pid_t> agent;
  if (!agent_program_.empty()) {
    const Duration span = std::clamp<Duration>(options_.measure, std::chrono::milliseconds(100), kLongestSample);
    WATTLE_TRY(agent, processes_.start(agent_program_,
                                       {"sample", "--count", "2", "--interval", milliseconds_text(span), "--workload",
                                        options_.group, "--output-file", samples},
                                       "agent"));
  }
  const SystemClock clock;
  const MonoTime begun = clock.mono();
  WATTLE_TRY(const auto before, load::read_group(proc, service_));
  WATTLE_TRY(const Periods periods, group_.periods());
  WATTLE_TRY(const std::string said, ask(cell, options_.measure, "load"));
  WATTLE_TRY(const auto after, load::read_group(proc, service_));
  WATTLE_TRY(const Periods later, group_.periods());
  Measured out;
  const double elapsed_s = seconds(clock.mono() - begun);
  WATTLE_CHECK(read_load(said, out));
  out.used_cores = std::max(0.0, after.cpu_s - before.cpu_s) / elapsed_s;
  if (later.all > periods.all)
    out.throttled_ratio =
        static_cast<double>(later.throttled - periods.throttled) / static_cast<double>(later.all - periods.all);
  if (agent) {
    WATTLE_CHECK(await(*agent, "agent", kBeyond));
    if (const auto reported = read_file(samples, kMostSaid)) read_power(*reported, out);
  }
  return out;
}

}  // namespace wattle::sim::profile
