// liar: an agent that sends impossible values over the real wire protocol, one per incarnation, among valid records.
// Usage    chaos_liar ENDPOINT KEY-FILE SERVER-KEY-FILE NODE
// Gives    a line of JSON for each invalid record: its incarnation and number, and the result: `kept` (acknowledged) or
//          `cut` (the session ended; a valid record then replaces it)
// Errors   exit 1 with the controller's action that did not happen within 30 s
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/transport/sockets.hpp"
#include "common/version.hpp"
#include "common/wire/codec.hpp"
#include "tests/patience.hpp"

namespace {

using namespace wattle;

const std::chrono::milliseconds kPatience = wattle::tests::soon();
constexpr std::uint64_t kRecords = 5;  // records of an incarnation
constexpr std::uint64_t kLie = 4;      // number of the invalid record
constexpr std::int64_t kHour_ns = 3'600'000'000'000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kBackwards = ~std::uint64_t{0} - 4;  // a counter that went backwards by five

Record honest(std::uint64_t incarnation, std::uint64_t seq, const Clock& clock) {
  Record record;
  record.incarnation = incarnation;
  record.seq = seq;
  record.mono_ns = to_ns(clock.mono());
  record.wall_ns = to_ns(clock.wall());
  record.interval_ns = 1'000'000'000;
  record.node.cpu_cores = 4;
  record.node.cpu_used_cores = 1;
  record.node.memory_total_bytes = std::uint64_t{8} << 30;
  record.node.memory_used_bytes = std::uint64_t{2} << 30;
  record.node.energy_source = EnergySource::rapl;
  record.node.energy_uj = 50'000'000;
  record.node.idle_energy_uj = 20'000'000;
  record.node.unattributed_energy_uj = 10'000'000;
  WorkloadValues workload;
  workload.kind = WorkloadKind::service;
  workload.name = "honest.service";
  workload.cpu_usage_us = 500'000;
  workload.energy_uj = 20'000'000;
  record.workloads.push_back(workload);
  ProbeValues probe;
  probe.target = "default";
  probe.p50_ms = 1;
  probe.sent = 60;
  record.probes.push_back(probe);
  return record;
}

struct TelemetryFault {
  const char* name;
  std::function<void(Record&)> report;
};

const std::vector<TelemetryFault>& lies() {
  static const std::vector<TelemetryFault> all{
      {"nan", [](Record& r) { r.node.cpu_used_cores = kNan; }},
      {"nan of a probe", [](Record& r) { r.probes[0].loss_ratio = kNan; }},
      {"infinite", [](Record& r) { r.node.net_rx_bytes_per_s = kInfinite; }},
      {"minus infinite", [](Record& r) { r.probes[0].p50_ms = -kInfinite; }},
      {"negative cores", [](Record& r) { r.node.cpu_used_cores = -1; }},
      {"negative latency", [](Record& r) { r.probes[0].p50_ms = -0.5; }},
      {"a million cores", [](Record& r) { r.node.cpu_used_cores = 1e6; }},
      {"a megawatt", [](Record& r) { r.node.energy_uj = 1'000'000'000'000; }},
      {"a megawatt of a workload", [](Record& r) { r.workloads[0].energy_uj = 1'000'000'000'000; }},
      {"energy counter backwards", [](Record& r) { r.node.energy_uj = kBackwards; }},
      {"cpu counter backwards", [](Record& r) { r.workloads[0].cpu_usage_us = kBackwards; }},
      {"more memory used than there is", [](Record& r) { r.node.memory_used_bytes = std::uint64_t{9} << 30; }},
      {"ratio of seven", [](Record& r) { r.node.pressure.cpu_some_ratio = 7; }},
      {"interval backwards", [](Record& r) { r.interval_ns = -1; }},
      {"interval of a day", [](Record& r) { r.interval_ns = 24 * kHour_ns; }},
      {"uptime negative", [](Record& r) { r.mono_ns = -1; }},
      {"uptime of a century", [](Record& r) { r.mono_ns = std::numeric_limits<std::int64_t>::max(); }},
      {"wall clock of 1970", [](Record& r) { r.wall_ns = 0; }},
      {"wall clock before 1970", [](Record& r) { r.wall_ns = -kHour_ns; }},
      {"wall clock of 2262", [](Record& r) { r.wall_ns = std::numeric_limits<std::int64_t>::max(); }},
      {"uptime an hour back", [](Record& r) { r.mono_ns = std::max<std::int64_t>(0, r.mono_ns - kHour_ns); }},
      {"uptime an hour on", [](Record& r) { r.mono_ns += kHour_ns; }},
  };
  return all;
}

class Liar {
 public:
  Liar(transport::Client client, std::string node, const Clock& clock)
      : client_(std::move(client)), node_(std::move(node)), clock_(clock) {}

  // False if the controller did not react as required.
  bool report(const TelemetryFault& lie, std::uint64_t incarnation) {
    if (!greet(incarnation)) return complain(lie, "no welcome");
    const auto first = send(incarnation, &lie);
    if (!first) return complain(lie, "neither acknowledged nor refused");
    std::string refused;
    if (const auto* refusal = std::get_if<wire::Refusal>(&*first)) {
      refused = refusal->subject + ": " + refusal->what;
      if (!client_.rebuild() || !greet(incarnation)) return complain(lie, "no welcome after the refusal");
      const auto again = send(incarnation, nullptr);
      if (!again || std::holds_alternative<wire::Refusal>(*again)) return complain(lie, "honest records refused");
    }
    const wattle::SortedJson line{{"lie", lie.name},
                                  {"incarnation", incarnation},
                                  {"seq", kLie},
                                  {"records", kRecords},
                                  {"became", refused.empty() ? "kept" : "cut"},
                                  {"refused", refused}};
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
    return true;
  }

 private:
  static bool complain(const TelemetryFault& lie, const char* what) {
    std::fprintf(stderr, "chaos_liar: %s: %s\n", lie.name, what);
    return false;
  }

  template <class Wanted>
  std::optional<wire::Message> wait_for(Wanted wanted) {
    const MonoTime until = clock_.mono() + kPatience;
    while (clock_.mono() < until) {
      if (client_.link() == transport::Link::refused && !client_.rebuild()) return std::nullopt;
      const auto bytes = client_.receive(std::chrono::milliseconds(100));
      if (!bytes) continue;
      auto message = wire::decode(*bytes);
      if (message && wanted(*message)) return std::move(*message);
    }
    return std::nullopt;
  }

  bool put(const wire::Message& message) {
    const std::string bytes = wire::encode(message);
    const MonoTime until = clock_.mono() + kPatience;
    while (clock_.mono() < until) {
      if (client_.link() == transport::Link::refused && !client_.rebuild()) return false;
      if (client_.send(bytes)) return true;
      client_.wait_writable(std::chrono::milliseconds(100));
    }
    return false;
  }

  bool greet(std::uint64_t incarnation) {
    wire::Hello hello;
    hello.node = node_;
    hello.incarnation = incarnation;
    hello.agent_version = kVersion;
    hello.cpu_cores = 4;
    hello.memory_bytes = std::uint64_t{8} << 30;
    hello.max_batch = kRecords;
    return put(hello) && wait_for([](const wire::Message& m) { return std::holds_alternative<wire::Welcome>(m); });
  }

  // Sends all records of the incarnation in one message. Returns their result.
  std::optional<wire::Message> send(std::uint64_t incarnation, const TelemetryFault* lie) {
    wire::Samples samples;
    for (std::uint64_t seq = 1; seq <= kRecords; ++seq) {
      samples.records.push_back(honest(incarnation, seq, clock_));
      if (lie != nullptr && seq == kLie) lie->report(samples.records.back());
    }
    if (!put(samples)) return std::nullopt;
    return wait_for([&](const wire::Message& message) {
      const auto* ack = std::get_if<wire::Ack>(&message);
      return std::holds_alternative<wire::Refusal>(message) ||
             (ack != nullptr && ack->incarnation == incarnation && ack->seq == kRecords);
    });
  }

  transport::Client client_;
  std::string node_;
  const Clock& clock_;
};

int failed(const Error& error) {
  std::fprintf(stderr, "chaos_liar: %s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: chaos_liar ENDPOINT KEY-FILE SERVER-KEY-FILE NODE\n");
    return 2;
  }
  const SystemClock clock;
  transport::Context context;
  transport::ClientOptions options;
  options.endpoint = argv[1];
  auto key = transport::KeyPair::load(argv[2]);
  if (!key) return failed(key.error());
  options.key = std::move(*key);
  if (const auto read = options.read_server_keys(argv[3]); !read) return failed(read.error());
  auto client = transport::Client::connect(context, options);
  if (!client) return failed(client.error());
  Liar liar(std::move(*client), argv[4], clock);
  // Like an agent's: after those of its last start.
  auto incarnation = static_cast<std::uint64_t>(to_ns(clock.wall()) / 1'000'000);
  for (const TelemetryFault& lie : lies())
    if (!liar.report(lie, incarnation++)) return 1;
  return 0;
}
