#include "agent/render.hpp"

#include <type_traits>

#include "common/json/value.hpp"
#include "common/wire/record_fields.hpp"
#include "common/wire/traits.hpp"

namespace wattle::agent {

namespace {
using Json = OrderedJson;

template <class T>
void put(Json& to, const char* key, const std::optional<T>& value) {
  if (value) to[key] = *value;
}

template <class T>
Json object_of(T value);

// Adds each field of a part of a record under its name on the wire; leaves out absent values.
class JsonFields {
 public:
  explicit JsonFields(Json& to) : to_(to) {}
  template <class T>
  void operator()(const char* key, const T& value) {
    if constexpr (wire::is_optional<T>::value)
      put(to_, key, value);
    else
      to_[key] = json_of(value);
  }

 private:
  template <class T>
  static Json json_of(const T& value) {
    if constexpr (std::is_enum_v<T>)
      return to_string(value);
    else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
      return JsonRef(value);
    else if constexpr (wire::is_vector<T>::value) {
      Json list = Json::array();
      for (const auto& each : value) list.push_back(json_of(each));
      return list;
    } else {
      return object_of(value);
    }
  }

  Json& to_;
};

template <class T>
Json object_of(T value) {
  Json out = Json::object();
  JsonFields fields(out);
  wire::fields(fields, value);
  return out;
}

Json totals_json(const PressureTotals& p) {
  Json out = Json::object();
  put(out, "cpu_some_us", p.cpu.some_us);
  put(out, "cpu_full_us", p.cpu.full_us);
  put(out, "memory_some_us", p.memory.some_us);
  put(out, "memory_full_us", p.memory.full_us);
  put(out, "io_some_us", p.io.some_us);
  put(out, "io_full_us", p.io.full_us);
  return out;
}

Json io_json(const std::vector<IoCounters>& all, const char* in, const char* out_key) {
  Json out = Json::array();
  for (const auto& one : all) out.push_back({{"name", one.name}, {in, one.in_bytes}, {out_key, one.out_bytes}});
  return out;
}

Json raw_node_json(const Sample& sample) {
  Json out = Json::object();
  if (sample.node.cpu) {
    out["cpu_busy_us"] = sample.node.cpu->busy_us;
    out["cpu_idle_us"] = sample.node.cpu->idle_us;
  }
  put(out, "cgroup_cpu_usage_us", sample.cgroup_usage_us);
  if (sample.node.interfaces) out["interfaces"] = io_json(*sample.node.interfaces, "rx_bytes", "tx_bytes");
  if (sample.node.disks) out["disks"] = io_json(*sample.node.disks, "read_bytes", "write_bytes");
  out["pressure"] = totals_json(sample.pressure);
  out["rapl"] = Json::array();
  for (const auto& [name, energy_uj] : sample.rapl_uj)
    out["rapl"].push_back({{"name", name}, {"energy_uj", energy_uj}});
  return out;
}

Json workload_json(WorkloadValues w, const WorkloadCounters& raw, const std::string& path) {
  Json out = {{"cgroup_id", nullptr}, {"kind", nullptr}, {"name", nullptr}, {"path", path}};
  JsonFields fields(out);
  wire::fields(fields, w);
  Json containers = std::move(out["containers"]);
  out.erase("containers");
  out["containers"] = std::move(containers);
  Json counters = Json::object();
  put(counters, "cpu_usage_us", raw.cpu_usage_us);
  if (raw.io) {
    counters["io_read_bytes"] = raw.io->read_bytes;
    counters["io_write_bytes"] = raw.io->write_bytes;
  }
  counters["pressure"] = totals_json(raw.pressure);
  out["raw"] = std::move(counters);
  return out;
}

Json probe_json(ProbeValues p) {
  Json out = {{"target", nullptr}, {"kind", nullptr}};
  JsonFields fields(out);
  wire::fields(fields, p);
  return out;
}

// Names come from directories: bytes that are not UTF-8 are replaced instead of causing an exception. Other characters
// than ASCII are escaped, as in the log, so that a name cannot control a terminal.
std::string line_of(const Json& json) { return json.dump(-1, JsonText::ascii); }

}  // namespace

std::string sample_json(const std::string& node, const Sample& sample, const WorkloadFilter& filter) {
  const Record& r = sample.record;
  Json out = {{"node_name", node},         {"incarnation", r.incarnation}, {"seq", r.seq},
              {"mono_ns", r.mono_ns},      {"wall_ns", r.wall_ns},         {"interval_ns", r.interval_ns},
              {"node", object_of(r.node)}, {"partial", r.partial}};
  if (r.node.energy_uj && r.interval_ns > 0)
    out["node"]["power_w"] = static_cast<double>(*r.node.energy_uj) * 1e3 / static_cast<double>(r.interval_ns);
  out["raw"] = raw_node_json(sample);
  out["workloads"] = Json::array();
  for (std::size_t i = 0; i < r.workloads.size(); ++i)
    if (filter.takes(r.workloads[i]))
      out["workloads"].push_back(workload_json(r.workloads[i], sample.workloads[i], sample.paths[i]));
  out["probes"] = Json::array();
  for (const auto& probe : r.probes) out["probes"].push_back(probe_json(probe));
  if (!sample.errors.empty()) {
    out["errors"] = Json::object();
    for (const auto& [part, error] : sample.errors) out["errors"][part] = error.message();
  }
  return line_of(out);
}

std::string doctor_json(const std::string& node, const std::vector<Finding>& findings) {
  Json out = {{"node_name", node}, {"healthy", healthy(findings)}, {"findings", Json::array()}};
  for (const auto& f : findings)
    out["findings"].push_back(
        {{"source", f.source}, {"state", f.state()}, {"optional", f.optional}, {"why", f.why}, {"fix", f.fix}});
  return line_of(out);
}

std::string doctor_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) text += finding.text() + "\n";
  return text;
}

}  // namespace wattle::agent
