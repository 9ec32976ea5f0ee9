#include "agent/collect/perf_energy.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "agent/collect/rapl.hpp"
#include "common/parse.hpp"

namespace wattle::agent {

namespace {
__extension__ using U128 = unsigned __int128;
constexpr std::size_t kMaxCpus = 4096;
constexpr const char* kPmu = "bus/event_source/devices/power";
constexpr const char* kNoPmu = "load the module rapl (CONFIG_PERF_EVENTS_INTEL_RAPL); virtual machines have none";
constexpr const char* kStill = "does not count energy while the machine runs";
constexpr const char* kDenied = "grant CAP_PERFMON, or set kernel.perf_event_paranoid to 0";

struct Event {
  std::string name;
  std::uint64_t config = 0;
  double scale_j = 0;
};

struct Place {
  unsigned cpu = 0, socket = 0, die = 0;
};

std::string_view base_of(EnergyKind kind) {
  constexpr std::string_view kNames[] = {"package", "core", "uncore", "dram", "psys", ""};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Event> events_of(const Dir& pmu) {
  std::vector<Event> events;
  const auto dir = pmu.open_dir("events");
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(std::vector<DirEntry>{});
  if (!entries) return events;
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with("energy-") || entry.name.find('.') != std::string::npos) continue;
    const auto text = dir->read_file(entry.name, 256), scale = dir->read_file(entry.name + ".scale", 256),
               unit = dir->read_file(entry.name + ".unit", 256);
    const auto config = text ? parse_perf_event(*text) : std::nullopt;
    const auto scale_j = scale ? parse_perf_scale(*scale) : std::nullopt;
    if (!config || !scale_j || !unit || parse::trim(*unit) != "Joules") continue;
    events.push_back({entry.name, *config, *scale_j});
  }
  return events;
}

std::vector<Place> places_of(const Roots& roots, const std::vector<unsigned>& cpus) {
  std::vector<Place> places;
  const auto dir = Dir::open_(roots.sys + "/devices/system/cpu");
  const auto number = [&](unsigned cpu, const char* file) -> std::optional<unsigned> {
    if (!dir) return std::nullopt;
    const auto text = dir->read_file("cpu" + std::to_string(cpu) + "/topology/" + file, 64);
    return text ? parse::integer<unsigned>(parse::trim(*text)) : std::nullopt;
  };
  for (const unsigned cpu : cpus)
    places.push_back({cpu, number(cpu, "physical_package_id").value_or(0), number(cpu, "die_id").value_or(0)});
  return places;
}

std::string label_of(const Event& event, EnergyKind kind, const Place& place, bool several_dies) {
  std::string text(kind == EnergyKind::other ? std::string_view(event.name) : base_of(kind));
  if (kind == EnergyKind::psys && place.socket == 0) return text;  // the name in powercap
  text += "-" + std::to_string(place.socket);
  if (several_dies) text += "-die-" + std::to_string(place.die);
  return text;
}
}  // namespace

std::optional<std::uint64_t> parse_perf_event(std::string_view text) {
  text = parse::trim(text);
  if (!text.starts_with("event=")) return std::nullopt;
  text.remove_prefix(6);
  if (text.starts_with("0x")) return parse::integer<std::uint64_t>(text.substr(2), 16);
  return parse::u64(text);
}

std::vector<unsigned> parse_cpu_list(std::string_view text) {
  std::vector<unsigned> cpus;
  for (const auto part : parse::split(parse::trim(text), ',')) {
    const auto dash = part.find('-');
    const auto first = parse::integer<unsigned>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse::integer<unsigned>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMaxCpus) return {};
    for (unsigned cpu = *first; cpu <= *last; ++cpu) {
      cpus.push_back(cpu);
      if (cpus.size() > kMaxCpus || cpu == ~0U) return {};
    }
  }
  return cpus;
}

std::optional<double> parse_perf_scale(std::string_view text) {
  const auto scale = parse::real(parse::trim(text));
  if (!scale || !(*scale > 0) || *scale > 1) return std::nullopt;
  return scale;
}

std::uint64_t perf_energy_uj(std::uint64_t count, double scale_j) {
  if (scale_j == std::ldexp(1.0, -32)) return static_cast<std::uint64_t>((static_cast<U128>(count) * 1'000'000) >> 32);
  const long double all = static_cast<long double>(count) * static_cast<long double>(scale_j) * 1e6L;
  constexpr long double kMost = 18446744073709551615.0L;
  return all >= kMost ? ~std::uint64_t{0} : static_cast<std::uint64_t>(all);
}

EnergyKind perf_event_kind(std::string_view name) {
  if (name == "energy-pkg") return EnergyKind::package;
  if (name == "energy-cores") return EnergyKind::core;
  if (name == "energy-gpu") return EnergyKind::uncore;
  if (name == "energy-ram") return EnergyKind::dram;
  if (name == "energy-psys") return EnergyKind::psys;
  return EnergyKind::other;
}

namespace {

Result<std::uint64_t> read_counter(int fd) {
  std::uint64_t count = 0;
  for (;;) {
    const auto got = ::read(fd, &count, sizeof count);
    if (got == sizeof count) return count;
    if (got >= 0) return fail(Errc::unavailable, "perf counter", "has ended because its CPU went offline");
    if (errno != EINTR) return fail_errno(errno, "perf counter");
  }
}

// Hardware updates the counter each millisecond, and a running machine draws power. Read errors are reported by later
// reads.
bool is_stuck(int fd) {
  constexpr int kLooks = 20;
  for (int look = 0; look < kLooks; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto count = read_counter(fd);
    if (!count || *count > 0) return false;
  }
  return true;
}

}  // namespace

PerfPort kernel_perf_port() {
  PerfPort port;
  port.open = [](std::uint32_t type, std::uint64_t config, unsigned cpu) -> Result<Fd> {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = type;
    attr.config = config;
    const long got = ::syscall(SYS_perf_event_open, &attr, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC);
    if (got < 0) return fail_errno(errno, "perf_event_open of CPU " + std::to_string(cpu), kDenied);
    return Fd(static_cast<int>(got));
  };
  port.read = read_counter;
  port.is_stuck = is_stuck;
  return port;
}

Result<PerfEnergy> PerfEnergy::open_(const Roots& roots, const std::optional<PerfPort>& port) {
  const std::string path = roots.sys + "/" + kPmu;
  const auto pmu = Dir::open_(path);
  if (!pmu) return fail(pmu.error().code, path, pmu.error().what, kNoPmu);
  WATTLE_TRY(const auto type_text, pmu->read_file("type", 64));
  WATTLE_TRY(const auto mask_text, pmu->read_file("cpumask", 64 << 10));
  const auto type = parse::integer<std::uint32_t>(parse::trim(type_text));
  const auto cpus = parse_cpu_list(mask_text);
  if (!type) return fail(Errc::malformed, path + "/type", "not a number");
  if (cpus.empty()) return fail(Errc::malformed, path + "/cpumask", "not a list of CPUs");
  const auto events = events_of(*pmu);
  if (events.empty()) return fail(Errc::not_found, path + "/events", "no event counts joules", kNoPmu);
  if (roots.captured && !port) return fail(Errc::unsupported, path, "captured trees have no counters");

  PerfEnergy perf(port ? *port : kernel_perf_port());
  auto places = places_of(roots, cpus);
  if (dies_show_socket(roots)) {  // one CPU of each socket, because the mask may name one of each die
    std::vector<Place> sockets;
    for (const auto& place : places)
      if (std::none_of(sockets.begin(), sockets.end(), [&](const Place& one) { return one.socket == place.socket; }))
        sockets.push_back(place);
    places = std::move(sockets);
  }
  std::map<unsigned, unsigned> dies;  // number per package
  for (const auto& place : places) ++dies[place.socket];
  for (const auto& event : events) {
    const EnergyKind kind = perf_event_kind(event.name);
    for (const auto& place : places) {
      WATTLE_TRY(Fd fd, perf.port_.open(*type, event.config, place.cpu));
      if (perf.port_.is_stuck(fd.get())) continue;
      perf.counters_.push_back(
          {label_of(event, kind, place, dies[place.socket] > 1), kind, place.socket, event.scale_j, std::move(fd), {}});
    }
  }
  if (perf.counters_.empty()) return fail(Errc::not_found, path + "/events", kStill, kNoPmu);
  return perf;
}

void PerfEnergy::read(EnergyReadings& out, CollectErrors& errors) {
  out.resize(counters_.size());
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    Counter& counter = counters_[i];
    out[i].label.assign(counter.label);
    out[i].kind = counter.kind;
    out[i].socket = counter.socket;
    out[i].energy_uj.reset();
    out[i].gap = false;
    out[i].fault = EnergyFault::none;
    const auto count = port_.read(counter.fd.get());
    if (!count) {
      counter.prev_uj.reset();
      errors.emplace_back("perf", Error{count.error().code, counter.label, count.error().what, ""});
      continue;
    }
    const std::uint64_t now_uj = perf_energy_uj(*count, counter.scale_j);
    if (counter.prev_uj && now_uj >= *counter.prev_uj) out[i].energy_uj = now_uj - *counter.prev_uj;
    if (counter.prev_uj && now_uj < *counter.prev_uj) out[i].fault = EnergyFault::backwards;
    counter.prev_uj = now_uj;
  }
}

std::string PerfEnergy::labels() const {
  std::string text;
  for (const auto& counter : counters_) text += (text.empty() ? "" : ", ") + counter.label;
  return text;
}

}  // namespace wattle::agent
