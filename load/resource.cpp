#include "load/resource.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "common/dir.hpp"
#include "common/parse.hpp"
#include "load/group_use.hpp"
#include "load/processes.hpp"
#include "load/throttle.hpp"

namespace wattle::load {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(10), kSecond = std::chrono::seconds(1),
                   kYoung = std::chrono::seconds(2);
// If we fail to end stress-ng, it ends by itself after this much longer.
constexpr Duration kGrace = std::chrono::seconds(60);
constexpr std::size_t kMostSaid = 400;
const char* const kProgram = "stress-ng";

struct Member {
  Stressor stressor;
  pid_t group = 0;
  std::optional<Throttle> throttle;
  GroupUse use;
  double passed = 0;  // CPU seconds, bytes written, bytes received
  double storage_bytes = 0;
  Duration slice{};
};

// Finds a port without a listener.
Result<std::uint16_t> free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return fail_errno(errno, "a port of the loopback");
  return ntohs(at.sin_port);
}

Result<std::string> make_folder(const std::string& directory) {
  std::string folder = directory + "/wattle-load-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return fail_errno(errno, directory, "pass a writable folder with --directory");
  return folder;
}

Result<double> free_memory(const Dir& proc) {
  WATTLE_TRY(const std::string text, proc.read_file("meminfo"));
  std::optional<std::uint64_t> kib;
  parse::for_each_line(text, [&](std::string_view line) {
    const auto fields = parse::fields(line);
    if (fields.size() >= 2 && fields[0] == "MemAvailable:") kib = parse::u64(fields[1]);
  });
  if (!kib) return fail(Errc::malformed, proc.path() + "/meminfo", "contains no MemAvailable");
  return static_cast<double>(*kib) * 1024;
}

class StressRun {
 public:
  StressRun(Dir proc, const Clock& clock, Processes processes)
      : proc_(std::move(proc)), clock_(clock), processes_(std::move(processes)) {}
  Status start(const std::string& program, std::vector<Stressor> stressors);
  // Runs one tick; returns false if the signal came.
  Result<bool> tick(StopSignal& stop);
  Result<ResourceUse> measure();

 private:
  Status look(Member& member);
  Result<double> received() const;
  tl::unexpected<Error> gone(const Member& member, int code) const;

  Dir proc_;
  const Clock& clock_;
  Processes processes_;
  std::vector<Member> members_;
  MonoTime start_, last_tick_;
  std::uint64_t ticks_ = 0;
  double received_before_ = 0;
};

Result<double> StressRun::received() const {
  WATTLE_TRY(const std::string text, proc_.read_file("net/dev"));
  const auto bytes = parse_received(text, "lo");
  if (!bytes)
    return fail(Errc::not_found, proc_.path() + "/net/dev", "has no loopback", "bring it up or omit --network");
  return static_cast<double>(*bytes);
}

Status StressRun::start(const std::string& program, std::vector<Stressor> stressors) {
  for (Stressor& stressor : stressors) {
    Member member;
    if (stressor.resource == Resource::network) {
      WATTLE_TRY(received_before_, received());
    }
    const std::string name(kResourceNames[static_cast<std::size_t>(stressor.resource)]);
    WATTLE_TRY(member.group, processes_.start(program, stressor.words, name, Where::alone));
    if (stressor.resource != Resource::memory) member.throttle.emplace(stressor.level);
    member.stressor = std::move(stressor);
    members_.push_back(std::move(member));
  }
  start_ = last_tick_ = clock_.mono();
  return {};
}

tl::unexpected<Error> StressRun::gone(const Member& member, int code) const {
  const std::string name(kResourceNames[static_cast<std::size_t>(member.stressor.resource)]);
  const auto said = read_file(processes_.folder() + "/" + name);
  std::string words = said ? std::string(parse::trim(*said)) : "";
  if (words.size() > kMostSaid) words.erase(0, words.size() - kMostSaid);
  return fail(Errc::unavailable, std::string(kProgram) + " of " + name,
              "exited with " + std::to_string(code) + (words.empty() ? "" : ": " + words),
              "check the limits of this machine");
}

Status StressRun::look(Member& member) {
  if (member.stressor.resource == Resource::network) {
    WATTLE_TRY(const double bytes, received());
    member.passed = bytes - received_before_;
    return {};
  }
  // stress-ng starts its workers one by one shortly after itself.
  if (const bool young = clock_.mono() - start_ < kYoung; member.use.pids.size() < 2 || (young && ticks_ % 10 == 0)) {
    if (auto use = read_group(proc_, member.group)) member.use = std::move(*use);
  }
  if (member.stressor.resource == Resource::cpu) {
    member.passed = std::max(member.passed, read_cpu_s(proc_, member.use.pids));
    return {};
  }
  WATTLE_TRY(const Written now, read_written(proc_, member.use.pids));
  member.passed = std::max(member.passed, now.bytes);
  member.storage_bytes = std::max(member.storage_bytes, now.storage_bytes);
  return {};
}

Result<bool> StressRun::tick(StopSignal& stop) {
  ++ticks_;
  const MonoTime now = clock_.mono();
  std::vector<Member*> running;
  for (Member& member : members_) {
    if (!member.throttle) continue;
    WATTLE_CHECK(look(member));
    member.slice = member.throttle->slice(member.passed, now - last_tick_, kTick);
    if (member.slice > Duration{})
      running.push_back(&member);
    else
      processes_.pause(member.group);
  }
  last_tick_ = now;
  std::sort(running.begin(), running.end(), [](const Member* a, const Member* b) { return a->slice < b->slice; });
  for (Member* member : running) processes_.resume(member->group);
  for (Member* member : running) {
    if (stop.wait(now + member->slice - clock_.mono())) return false;
    processes_.pause(member->group);
  }
  return !stop.wait(now + kTick - clock_.mono());
}

Result<ResourceUse> StressRun::measure() {
  ResourceUse out;
  out.lasted = clock_.mono() - start_;
  const double lasted_s = std::max(seconds(out.lasted), 1e-3);
  for (Member& member : members_) {
    if (const auto code = processes_.ended(member.group)) return gone(member, *code);
    auto use = read_group(proc_, member.group);
    if (!use) {  // the group may have ended in the meantime
      if (const auto code = processes_.ended(member.group)) return gone(member, *code);
      return forward_error(use);
    }
    member.use = std::move(*use);
    if (member.throttle) WATTLE_CHECK(look(member));
    Reached reached{member.stressor.resource, member.stressor.level, 0, member.use.cpu_s / lasted_s,
                    member.storage_bytes / lasted_s};
    reached.reached = reached.resource == Resource::memory ? member.use.resident_bytes : member.passed / lasted_s;
    out.resources.push_back(reached);
  }
  return out;
}

}  // namespace

Status check_levels(const Levels& levels, double cores, double free_memory_bytes) {
  if (levels.cpu_cores && *levels.cpu_cores > cores)
    return fail(Errc::out_of_range, "--cpu " + std::to_string(*levels.cpu_cores),
                "is more than this machine's " + std::to_string(std::lround(cores)) + " cores", "use a smaller value");
  if (levels.memory_bytes && *levels.memory_bytes > free_memory_bytes)
    return fail(Errc::out_of_range, "--memory",
                "is more than the " + std::to_string(std::llround(free_memory_bytes / 1e6)) +
                    " MB of free memory: the kernel would kill processes",
                "use a smaller value");
  return {};
}

Result<ResourceUse> apply_resources(const ResourceLoad& load, const Clock& clock, StopSignal& stop,
                                    const std::function<void(const ResourceUse&)>& reported) {
  WATTLE_TRY(Dir proc, Dir::open_(load.proc));
  WATTLE_TRY(const double memory, free_memory(proc));
  WATTLE_CHECK(check_levels(load.levels, static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)), memory));
  WATTLE_TRY(const std::string program, find_program(kProgram, load.path));
  WATTLE_TRY(const std::uint16_t port, free_port());
  WATTLE_TRY(std::string folder, make_folder(load.directory));
  auto stressors = stressors_of(load.levels, load.length + kGrace, folder, port);
  WATTLE_TRY(Processes processes, Processes::open_(std::move(folder)));
  StressRun run(std::move(proc), clock, std::move(processes));
  WATTLE_CHECK(run.start(program, std::move(stressors)));
  const MonoTime start = clock.mono();
  MonoTime next = start + kSecond;
  for (bool going = true; going && clock.mono() - start < load.length;) {
    WATTLE_TRY(going, run.tick(stop));
    if (clock.mono() < next) continue;
    next += kSecond;
    WATTLE_TRY(const ResourceUse use, run.measure());
    if (reported) reported(use);
  }
  return run.measure();
}

}  // namespace wattle::load
