#include "agent/doctor.hpp"

#include <algorithm>
#include <array>

#include "agent/bpf/cgroup_lifecycle.hpp"
#include "agent/bpf/cgroup_sweep.hpp"
#include "agent/bpf/kernel_signals.hpp"
#include "agent/collect/cgroup_mount.hpp"
#include "agent/collect/energy.hpp"
#include "agent/collect/net_namespaces.hpp"
#include "agent/collect/probe_icmp.hpp"
#include "agent/collect/procfs.hpp"
#include "agent/collect/psi.hpp"
#include "agent/power/sleep_findings.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

namespace {
constexpr const char* kRealFile = "check that the host's /proc is mounted there, and that nothing masks the file";

// A file that can be read but has none of the values is as bad as one that cannot be read.
struct Source {
  const char* name;
  std::string file;
  bool optional;
  const char* otherwise;
  bool (*has_values)(std::string_view text);
};

bool has_interface(std::string_view text) {
  std::vector<IoCounters> found;
  parse_net_dev(
      text, [](std::string_view) { return true; }, found);
  return !found.empty();
}

bool has_disk(std::string_view text) {
  std::vector<IoCounters> found;
  parse_diskstats(
      text, [](std::string_view) { return true; }, found);
  return !found.empty();
}

Finding read_finding(const Dir& dir, const Source& source) {
  const std::string path = dir.path() + "/" + source.file;
  const auto text = dir.read_file(source.file);
  if (!text) return lost(source.name, text.error(), source.optional);
  if (source.has_values(*text)) return usable(source.name, path, source.optional);
  if (text->empty() && source.has_values == has_disk)
    return absent(source.name, {Errc::not_found, path, "no disk", ""});
  const Error error{Errc::malformed, path, text->empty() ? "is empty" : std::string("has ") + source.otherwise, ""};
  return lost(source.name, error, source.optional, kRealFile);
}

std::vector<Finding> examine_procfs(const AgentConfig& config) {
  const auto opened = Dir::open_(config.roots.proc);
  if (!opened) return {lost("proc", opened.error(), false, "mount the host's /proc and set root to its parent")};
  const Dir& proc = *opened;
  std::vector<Finding> out;
  const std::string net = net_folder(proc, config.roots.own_proc());
  const std::array<Source, 5> sources{{{"cpu", "stat", false, "no line of all CPUs",
                                        [](std::string_view text) { return parse_stat(text, 100).has_value(); }},
                                       {"memory", "meminfo", false, "no MemTotal and MemAvailable",
                                        [](std::string_view text) { return parse_meminfo(text).has_value(); }},
                                       {"net", net + "/dev", true, "no interface", has_interface},
                                       {"disk", "diskstats", true, "no disk", has_disk},
                                       {"tcp", net + "/snmp", true, "no count of TCP connections",
                                        [](std::string_view text) { return parse_snmp(text).has_value(); }}}};
  for (const Source& source : sources) out.push_back(read_finding(proc, source));
  if (shows_processes(proc))
    out.push_back(usable("tcp-pods", proc.path() + "/PID/net/snmp"));
  else
    out.push_back({"tcp-pods", false, true,
                   proc.path() + " hides processes of other users: connections of pods are not counted",
                   "if pods run on this machine: set ProtectProc=default (systemctl edit wattle-agent), or mount /proc "
                   "without hidepid"});
  return out;
}

std::vector<Finding> examine_psi(const AgentConfig& config) {
  const auto proc = Dir::open_(config.roots.proc);
  if (!proc) return {};  // reported as "proc"
  for (const char* file : {"pressure/cpu", "pressure/memory", "pressure/io"}) {
    const auto text = proc->read_file(file);
    if (!text) return {lost("psi", text.error(), true, "use a kernel with CONFIG_PSI and boot with psi=1")};
    if (!parse_psi(*text).some_us)
      return {{"psi", false, true, proc->path() + "/" + file + ": no totals", "boot with psi=1"}};
  }
  return {usable("psi", proc->path() + "/pressure")};
}

}  // namespace

Finding v1_finding(const CgroupTop& top) {
  const std::string where = top.pod ? "pods are only on cgroup v1 (" + top.dir.path() + *top.pod + ")"
                                    : "workloads are on cgroup v1 (" + top.dir.path() + ")";
  return {"cgroup-pods", false, true,
          where +
              ": CPU time, energy, memory, pids and disk are read; pressure, memory events, run queue, response "
              "times and workloads between two ticks are not available",
          kUse_v2};
}

namespace {

// A controller of cgroup v2, or of the hierarchy of cgroup v1 that has it.
Finding controller_finding(const AgentConfig& config, const Dir& root, const std::string& name) {
  const std::string file = root.path() + "/cgroup.controllers";
  const auto controllers = root.read_file("cgroup.controllers");
  if (controllers && (" " + *controllers).find(" " + name) != std::string::npos) return usable("cgroup-" + name, file);
  if (const auto v1 = open_v1_root(config.roots, name == "io" ? "blkio" : name))
    return usable("cgroup-" + name, "cgroup v1: " + v1->path());
  return {"cgroup-" + name, false, true, controllers ? file + ": no " + name : "no hierarchy of cgroup v1 has " + name,
          "this kernel has it turned off: remove cgroup_disable=" + name +
              " from its command line (Raspberry Pi: add cgroup_enable=" + name + ")"};
}

std::vector<Finding> examine_cgroup(const AgentConfig& config) {
  const auto top = open_cgroup_top(config.roots);
  if (!top) return {lost("cgroup", top.error())};
  const Dir& dir = top->dir;
  const auto entries = dir.list();
  if (!entries || entries->empty()) {
    const Error empty{Errc::malformed, dir.path(), "is empty", ""};
    return {lost("cgroup", entries ? empty : entries.error(), true, "mount the host's cgroup file system there")};
  }
  std::vector<Finding> out{usable("cgroup", dir.path())};
  if (top->v1) out.push_back(v1_finding(*top));
  for (const char* name : {"memory", "io", "pids"}) out.push_back(controller_finding(config, dir, name));
  if (top->v1) out.push_back(controller_finding(config, dir, "cpuacct"));
  return out;
}

std::vector<Finding> examine_cgroup_sweep(const AgentConfig& config) {
  const auto top = open_cgroup_top(config.roots);
  if (!top || top->v1 || config.roots.captured) return {};  // reported as "cgroup"
  std::vector<Finding> out{finding_of(CgroupSweep::open_(top->dir), top->dir)};
  if (config.bpf.enabled) out.push_back(finding_of(CgroupLifecycle::open_()));
  return out;
}

std::vector<Finding> examine_icmp(const AgentConfig& config) {
  const auto wants = [](const ProbeTarget& target) { return target.kind == ProbeKind::icmp; };
  if (std::none_of(config.probes.begin(), config.probes.end(), wants)) return {};
  const auto pinger = Pinger::open_(0);
  if (!pinger) return {lost("icmp", pinger.error())};
  return {usable("icmp", pinger->raw() ? "raw sockets" : "ping sockets")};
}

struct Examiner {
  std::vector<Finding> (*examine)(const AgentConfig&);
  bool at_start;
};
constexpr Examiner kExaminers[]{
    {examine_procfs, true},          {examine_psi, true},     {examine_cgroup, true}, {examine_cgroup_sweep, false},
    {examine_kernel_signals, false}, {examine_energy, false}, {examine_icmp, true},   {examine_machine, false},
    {examine_setup, false},          {examine_sleep, true},
};

std::vector<Finding> ask(const AgentConfig& config, bool whole) {
  std::vector<Finding> all;
  for (const auto& examiner : kExaminers) {
    if (!whole && !examiner.at_start) continue;
    for (auto& finding : examiner.examine(config)) all.push_back(std::move(finding));
  }
  std::stable_partition(all.begin(), all.end(), [](const Finding& finding) { return !finding.absent; });
  return all;
}
}  // namespace

std::vector<Finding> examine(const AgentConfig& config) { return ask(config, true); }
std::vector<Finding> examine_at_start(const AgentConfig& config) { return ask(config, false); }

bool healthy(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const auto& finding) { return finding.ok || finding.optional; });
}

}  // namespace wattle::agent
