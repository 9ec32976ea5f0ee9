#include "controller/ingest/validate.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace wattle::controller {
namespace {

constexpr std::int64_t kMaxIntervalNs = 3'600'000'000'000;
constexpr std::int64_t kMeasuredSlackNs = 60'000'000'000;
constexpr std::int64_t kMaxMonoNs = std::int64_t{1} << 60;  // 36 years of uptime
constexpr double kRatioSlack = 1.05;
constexpr double kCoresSlack = 1.5;  // a tick of /proc/stat is 10 ms, a large part of a short interval
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 56;
constexpr std::size_t kMaxName = 512;
constexpr std::size_t kMaxContainerId = 64;
constexpr double kMaxBufferBytesPerS = 1e14;  // memory traffic of one processor
constexpr double kMaxConnections = 1e9;
constexpr double kMaxHz = 1e11;
constexpr std::size_t kMaxCStates = 32;
constexpr double kMaxTasks = 1 << 22;  // pid_max: the highest number of waiting tasks
constexpr double kMaxEventsPerS = 1e9;
constexpr double kMaxRoundTripUs = 3.6e9;
constexpr double kThrottlePeriodUs = 1e6;  // the longest period of cpu.max; throttling is reported when it ends
constexpr double kMaxMargin = 100, kMaxOfMinute = 1e6;
constexpr std::uint64_t kMaxRequests = std::uint64_t{1} << 40;  // per minute
constexpr std::uint64_t kMaxParts = 1024;                       // each of up to one message

// Path of a field, built only for an error message, because most of a record's hundred fields are valid.
class Field {
 public:
  Field(const char* name) : name_(name) {}
  Field(const char* name, std::string_view index) : name_(name), index_(index), indexed_(true) {}
  // The result must not outlive the parent field.
  Field operator+(const char* name) const {
    Field field(name);
    field.of_ = this;
    return field;
  }
  std::string text() const {
    std::string text = of_ == nullptr ? std::string() : of_->text();
    text += name_;
    if (indexed_) text.append("[").append(index_).append("]");
    return text;
  }

 private:
  const Field* of_ = nullptr;
  const char* name_;
  std::string_view index_;
  bool indexed_ = false;
};

// Checks one record; each check returns false once a value was refused. Returning a Status from each of about a hundred
// checks would cost more than the checks.
class Checks {
 public:
  bool passes(Record& record) {
    if (record.seq == 0) return refuse("record.seq", "is 0; the first is 1");
    if (record.mono_ns < 0 || record.mono_ns > kMaxMonoNs)
      return refuse("record.mono_ns", "is " + std::to_string(record.mono_ns));
    if (record.interval_ns < 0 || record.interval_ns > kMaxIntervalNs)
      return refuse("record.interval_ns", "is " + std::to_string(record.interval_ns));
    if (record.parts == 0 || record.parts > kMaxParts || record.part >= record.parts || record.part >= record.seq)
      return refuse("record.part", "is " + std::to_string(record.part) + " of " + std::to_string(record.parts));
    if (!check_node(record.node, record.interval_ns)) return false;
    const double cores = record.node.cpu_cores.value_or(kMaxCores);
    std::optional<std::uint64_t> energy_uj = 0;
    for (WorkloadValues& workload : record.workloads) {
      if (!check_workload(workload, cores, record.interval_ns)) return false;
      *energy_uj += workload.energy_uj.value_or(0);  // at most 65,536 terms, each at most a node's energy of an hour
      if (!energy("record.workloads.energy_uj", energy_uj, record.interval_ns)) return false;
    }
    for (ProbeValues& probe : record.probes)
      if (!check_probe(probe)) return false;
    return limit_minutes(record);
  }
  Error error() && { return std::move(error_); }

 private:
  bool refuse(const Field& field, const std::string& what) {
    error_ = Error{Errc::out_of_range, field.text(), what,
                   "the agent on this node sends wrong measurements: see `wattle doctor`"};
    return false;
  }

  bool not_negative(const Field& field, const std::optional<double>& value) {
    if (value && *value < 0) return refuse(field, "is negative: " + std::to_string(*value));
    return true;
  }

  bool ratio(const Field& field, std::optional<double>& value) {
    if (!not_negative(field, value)) return false;
    if (value && *value > kRatioSlack) return refuse(field, "is more than 1: " + std::to_string(*value));
    if (value) value = std::min(*value, 1.0);
    return true;
  }

  bool bytes(const Field& field, const std::optional<std::uint64_t>& value) {
    if (value && *value > kMaxBytes) return refuse(field, "is out of range: " + std::to_string(*value) + " bytes");
    return true;
  }

  bool pressure(const Field& field, Pressure& pressure) {
    if (!ratio(field + ".cpu_some_ratio", pressure.cpu_some_ratio)) return false;
    if (!ratio(field + ".cpu_full_ratio", pressure.cpu_full_ratio)) return false;
    if (!ratio(field + ".memory_some_ratio", pressure.memory_some_ratio)) return false;
    if (!ratio(field + ".memory_full_ratio", pressure.memory_full_ratio)) return false;
    if (!ratio(field + ".io_some_ratio", pressure.io_some_ratio)) return false;
    return ratio(field + ".io_full_ratio", pressure.io_full_ratio);
  }

  // An empty interval has no power; the bound is then that of an hour.
  bool energy(const Field& field, const std::optional<std::uint64_t>& energy_uj, std::int64_t interval_ns) {
    if (!energy_uj) return true;
    const double interval_s = static_cast<double>(interval_ns > 0 ? interval_ns : kMaxIntervalNs) * 1e-9;
    const double power_w = static_cast<double>(*energy_uj) * 1e-6 / interval_s;
    if (power_w > kMaxNodeW) return refuse(field, "is " + std::to_string(power_w) + " W over the interval");
    return true;
  }

  // An empty interval counts as an hour here, for the bound.
  static double interval_us(std::int64_t interval_ns) {
    return static_cast<double>(interval_ns > 0 ? interval_ns : kMaxIntervalNs) * 1e-3;
  }

  bool at_most(const Field& field, const std::optional<std::uint64_t>& value, double most) {
    if (value && static_cast<double>(*value) > most) return refuse(field, "is too large: " + std::to_string(*value));
    return true;
  }

  bool at_most(const Field& field, const std::optional<double>& value, double most) {
    if (!not_negative(field, value)) return false;
    if (value && *value > most) return refuse(field, "is too large: " + std::to_string(*value));
    return true;
  }

  // `most_us` limits the total time on CPU.
  bool kernel(const Field& field, const KernelValues& values, double most_us, std::int64_t interval_ns) {
    const double us = interval_us(interval_ns);
    if (!at_most(field + ".on_cpu_us", values.on_cpu_us, most_us)) return false;
    if (!at_most(field + ".cpu_cycles", values.cpu_cycles, most_us * 1e-6 * kMaxHz)) return false;
    if (!at_most(field + ".run_queue_us", values.run_queue_us, kMaxTasks * us)) return false;
    if (!at_most(field + ".run_queue_waits", values.run_queue_waits, kMaxEventsPerS * us * 1e-6)) return false;
    if (!at_most(field + ".tcp_srtt_us", values.tcp_srtt_us, kMaxRoundTripUs)) return false;
    if (!at_most(field + ".tcp_srtt_samples", values.tcp_srtt_samples, kMaxEventsPerS * us * 1e-6)) return false;
    if (!at_most(field + ".block_io_us", values.block_io_us, kMaxTasks * us)) return false;
    return at_most(field + ".block_ios", values.block_ios, kMaxEventsPerS * us * 1e-6);
  }

  bool socket(SocketValues& values) {
    const std::string index = std::to_string(values.socket);
    const Field field("record.node.sockets", index);
    if (!at_most(field + ".dram_read_bytes_per_s", values.dram_read_bytes_per_s, kMaxBufferBytesPerS)) return false;
    if (!at_most(field + ".dram_write_bytes_per_s", values.dram_write_bytes_per_s, kMaxBufferBytesPerS)) return false;
    if (!at_most(field + ".frequency_hz", values.frequency_hz, kMaxHz)) return false;
    if (values.package_c_state_ratios.size() > kMaxCStates)
      return refuse(field + ".package_c_state_ratios", "are too many");
    for (double& share : values.package_c_state_ratios) {
      std::optional<double> checked = share;
      if (!ratio(field + ".package_c_state_ratios", checked)) return false;
      share = *checked;
    }
    return true;
  }

  bool cpu(NodeValues& node) {
    if (!not_negative("record.node.cpu_used_cores", node.cpu_used_cores)) return false;
    if (node.cpu_cores && (*node.cpu_cores <= 0 || *node.cpu_cores > kMaxCores))
      return refuse("record.node.cpu_cores", "is " + std::to_string(*node.cpu_cores));
    if (!node.cpu_used_cores) return true;
    const double most = node.cpu_cores.value_or(kMaxCores);
    if (*node.cpu_used_cores > most * kCoresSlack)
      return refuse("record.node.cpu_used_cores",
                    "is " + std::to_string(*node.cpu_used_cores) + " of " + std::to_string(most) + " cores");
    node.cpu_used_cores = std::min(*node.cpu_used_cores, most);
    return true;
  }

  bool check_node(NodeValues& node, std::int64_t interval_ns) {
    if (!cpu(node)) return false;
    if (!bytes("record.node.memory_used_bytes", node.memory_used_bytes)) return false;
    if (!bytes("record.node.memory_total_bytes", node.memory_total_bytes)) return false;
    if (node.memory_used_bytes && node.memory_total_bytes && *node.memory_used_bytes > *node.memory_total_bytes)
      return refuse("record.node.memory_used_bytes", "is more than memory_total_bytes");
    if (!at_most("record.node.net_rx_bytes_per_s", node.net_rx_bytes_per_s, kMaxBytesPerS)) return false;
    if (!at_most("record.node.net_tx_bytes_per_s", node.net_tx_bytes_per_s, kMaxBytesPerS)) return false;
    if (!at_most("record.node.disk_read_bytes_per_s", node.disk_read_bytes_per_s, kMaxBytesPerS)) return false;
    if (!at_most("record.node.disk_write_bytes_per_s", node.disk_write_bytes_per_s, kMaxBytesPerS)) return false;
    if (!at_most("record.node.tcp_established", node.tcp_established, kMaxConnections)) return false;
    if (!ratio("record.node.disk_used_ratio", node.disk_used_ratio)) return false;
    if (!pressure("record.node.pressure", node.pressure)) return false;
    if (!energy("record.node.energy_uj", node.energy_uj, interval_ns)) return false;
    if (!energy("record.node.idle_energy_uj", node.idle_energy_uj, interval_ns)) return false;
    if (!energy("record.node.unattributed_energy_uj", node.unattributed_energy_uj, interval_ns)) return false;
    for (const EnergyDomain& domain : node.domains) {
      if (domain.name.empty() || domain.name.size() > kMaxName)
        return refuse("record.node.domains", "a name is missing or too long");
      if (!energy(Field("record.node.domains", domain.name), domain.energy_uj, interval_ns)) return false;
    }
    for (SocketValues& values : node.sockets)
      if (!socket(values)) return false;
    return kernel("record.node.kernel", node.kernel, 2 * node.cpu_cores.value_or(kMaxCores) * interval_us(interval_ns),
                  interval_ns);
  }

  bool check_workload(WorkloadValues& workload, double cores, std::int64_t interval_ns) {
    const Field field("record.workloads", std::string_view(workload.name).substr(0, 64));
    if (workload.name.empty() || workload.name.size() > kMaxName)
      return refuse(field, "the name is missing or too long");
    if (!bytes(field + ".memory_bytes", workload.memory_bytes)) return false;
    if (!pressure(field + ".pressure", workload.pressure)) return false;
    if (!energy(field + ".energy_uj", workload.energy_uj, interval_ns)) return false;
    if (workload.cpu_usage_us && interval_ns > 0) {
      const double used = static_cast<double>(*workload.cpu_usage_us) * 1e3 / static_cast<double>(interval_ns);
      if (used > 2 * cores) return refuse(field + ".cpu_usage_us", "is " + std::to_string(used) + " cores");
    }
    const double us = interval_us(interval_ns);
    if (!at_most(field + ".nested_cpu_us", workload.nested_cpu_us, 2 * cores * us)) return false;
    if (!at_most(field + ".cpu_throttled_us", workload.cpu_throttled_us, 2 * cores * (us + kThrottlePeriodUs)))
      return false;
    if (!bytes(field + ".memory_anon_bytes", workload.memory_anon_bytes)) return false;
    if (!bytes(field + ".memory_file_bytes", workload.memory_file_bytes)) return false;
    if (!at_most(field + ".memory_high_events", workload.memory_high_events, kMaxEventsPerS * us * 1e-6)) return false;
    if (!at_most(field + ".memory_oom_kills", workload.memory_oom_kills, kMaxTasks)) return false;
    if (!containers(field, workload)) return false;
    // The usage of a new workload before the agent found it counts in the interval in which it was found, so it may
    // cover two intervals of varying length.
    return kernel(field + ".kernel", workload.kernel, 4 * cores * us, interval_ns);
  }

  // The containers' sum may not exceed their pod's value. An id is part of a name in the store.
  bool containers(const Field& field, const WorkloadValues& workload) {
    if (workload.containers.size() > kMaxContainers) return refuse(field + ".containers", "are too many");
    std::uint64_t used_us = 0, energy_uj = 0;
    for (const ContainerValues& container : workload.containers) {
      if (container.id.empty() || container.id.size() > kMaxContainerId ||
          container.id.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") != std::string::npos)
        return refuse(field + ".containers.id", "is not a container ID");
      if (container.cpu_usage_us > workload.cpu_usage_us.value_or(0) - used_us)
        return refuse(field + ".containers.cpu_usage_us", "exceed those of their pod");
      if (container.energy_uj.value_or(0) > workload.energy_uj.value_or(0) - energy_uj)
        return refuse(field + ".containers.energy_uj", "exceed those of their pod");
      used_us += container.cpu_usage_us;
      energy_uj += container.energy_uj.value_or(0);
    }
    return true;
  }

  bool limit_minutes(Record& record) {
    if (record.limit_minutes.size() > kMaxLimitMinutes) return refuse("record.limit_minutes", "are too many");
    for (LimitMinute& minute : record.limit_minutes) {
      const Field field("record.limit_minutes", std::string_view(minute.name).substr(0, 64));
      if (minute.name.empty() || minute.name.size() > kMaxName) return refuse(field, "the name is missing or too long");
      for (const double margin : {minute.margin_ratio, minute.rule_margin_ratio})
        if (margin <= -1 || margin > kMaxMargin) return refuse(field, "has a margin of " + std::to_string(margin));
      if (const auto memory = minute.memory_margin_ratio; memory && (*memory <= -1 || *memory > kMaxMargin))
        return refuse(field, "has a margin of memory of " + std::to_string(*memory));
      for (double* const share : {&minute.throttled_ratio, &minute.memory_short_ratio, &minute.memory_used_over_peak}) {
        std::optional<double> bounded = *share;
        if (!ratio(field + (share == &minute.throttled_ratio ? ".throttled_ratio" : ".memory"), bounded)) return false;
        *share = *bounded;
      }
      if (minute.memory_granted_bytes.has_value() != minute.memory_used_bytes.has_value() ||
          std::max(minute.memory_granted_bytes.value_or(0), minute.memory_used_bytes.value_or(0)) > kMaxBytes)
        return refuse(field, "has incomplete or impossible memory values");
      for (const double value : {minute.used_cores, minute.granted_cores, minute.deviation_ratio, minute.peak_ratio,
                                 minute.p99_over_target.value_or(0)})
        if (value < 0 || value > kMaxOfMinute) return refuse(field, "reports " + std::to_string(value));
      if (minute.requests.has_value() != minute.requests_over.has_value() ||
          minute.requests_over.value_or(0) > minute.requests.value_or(0) || minute.requests.value_or(0) > kMaxRequests)
        return refuse(field, "has more requests over target than requests, or too many");
    }
    return true;
  }

  bool check_probe(ProbeValues& probe) {
    const Field field("record.probes", std::string_view(probe.target).substr(0, 64));
    if (probe.target.empty() || probe.target.size() > kMaxName)
      return refuse(field, "the target is missing or too long");
    if (!at_most(field + ".p50_ms", probe.p50_ms, kMaxRoundTripUs * 1e-3)) return false;
    if (!at_most(field + ".p95_ms", probe.p95_ms, kMaxRoundTripUs * 1e-3)) return false;
    if (!at_most(field + ".jitter_ms", probe.jitter_ms, kMaxRoundTripUs * 1e-3)) return false;
    std::optional<double> loss = probe.loss_ratio;
    if (!ratio(field + ".loss_ratio", loss)) return false;
    probe.loss_ratio = *loss;
    for (const std::uint64_t failures :
         {probe.dns_failures, probe.refusals, probe.timeouts, probe.unreachables, probe.bad_answers})
      if (failures > probe.sent) return refuse(field, "has more failures than probes");
    return true;
  }

  Error error_;
};

}  // namespace

Status validate(Record& record) {
  Checks checks;
  if (!checks.passes(record)) return tl::unexpected<Error>(std::move(checks).error());
  return {};
}

Status MeasuredTime::add(const Record& record) {
  if (began_ns_ && record.part > 0 && record.mono_ns == last_ns_) return {};  // another part of a counted interval
  if (!began_ns_) began_ns_ = record.mono_ns - record.interval_ns;
  const std::int64_t last_ns = std::max(last_ns_, record.mono_ns);
  if (measured_ns_ + record.interval_ns > last_ns - *began_ns_ + kMeasuredSlackNs)
    return fail(Errc::out_of_range, "record.interval_ns",
                "is " + std::to_string(record.interval_ns) + ": the sum exceeds the elapsed time",
                "the agent on this node sends wrong measurements: see `wattle doctor`");
  last_ns_ = last_ns;
  measured_ns_ += record.interval_ns;
  return {};
}

}  // namespace wattle::controller
