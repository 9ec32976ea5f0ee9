#include "agent/doctor.hpp"

#include <algorithm>
#include <array>

#include "agent/collect/cgroup_mount.hpp"
#include "agent/collect/procfs.hpp"
#include "agent/collect/psi.hpp"
#include "agent/collect/rapl.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

namespace {
Finding lost(std::string source, const Error& error, bool optional, std::string mend = {}) {
  return {std::move(source), false, optional, error.subject + ": " + error.what,
          mend.empty() ? error.mend : std::move(mend)};
}

void examine_procfs(const Dir& proc, bool own_proc, std::vector<Finding>& out) {
  struct Source {
    const char* name;
    std::string file;
    bool optional;
  };
  const std::string net = net_folder(proc, own_proc);
  const std::array<Source, 5> sources{{{"cpu", "stat", false},
                                       {"memory", "meminfo", false},
                                       {"net", net + "/dev", true},
                                       {"disk", "diskstats", true},
                                       {"tcp", net + "/snmp", true}}};
  for (const auto& source : sources) {
    const auto text = proc.read_file(source.file);
    if (text)
      out.push_back({source.name, true, source.optional, proc.path() + "/" + source.file, ""});
    else
      out.push_back(lost(source.name, text.error(), source.optional));
  }
}

void examine_psi(const Dir& proc, std::vector<Finding>& out) {
  const auto text = proc.read_file("pressure/cpu");
  if (text && parse_psi(*text).some_us)
    out.push_back({"psi", true, true, proc.path() + "/pressure", ""});
  else if (text)
    out.push_back({"psi", false, true, proc.path() + "/pressure/cpu: no totals", "boot with psi=1"});
  else
    out.push_back(lost("psi", text.error(), true, "needs a kernel with CONFIG_PSI; boot with psi=1"));
}

void examine_cgroup(const Roots& roots, std::vector<Finding>& out) {
  auto root = open_cgroup_root(roots);
  if (!root) {
    out.push_back(lost("cgroup", root.error(), true));
    return;
  }
  out.push_back({"cgroup", true, true, root->path(), ""});
  const auto controllers = root->read_file("cgroup.controllers");
  for (const std::string_view name : {"memory", "io", "pids"}) {
    const bool on = controllers && (" " + *controllers).find(" " + std::string(name)) != std::string::npos;
    out.push_back(
        {"cgroup-" + std::string(name), on, true,
         on ? root->path() + "/cgroup.controllers" : root->path() + "/cgroup.controllers: no " + std::string(name),
         on ? "" : "the controller is on cgroup v1; boot with systemd.unified_cgroup_hierarchy=1"});
  }
}
}  // namespace

std::string Finding::text() const {
  std::string text = source + ": " + (ok ? "ok" : "lost") + ": " + why;
  if (!mend.empty()) text += " (" + mend + ")";
  return text;
}

std::vector<Finding> examine(const Roots& roots) {
  std::vector<Finding> out;
  auto proc = Dir::open_(roots.proc);
  if (!proc) {
    out.push_back(lost("proc", proc.error(), false, "mount the host's /proc and name it in roots.proc"));
    return out;
  }
  examine_procfs(*proc, roots.own_proc(), out);
  examine_psi(*proc, out);
  examine_cgroup(roots, out);
  if (auto rapl = Rapl::open_(roots))
    out.push_back({"rapl", true, true, std::to_string(rapl->zone_count()) + " zones", ""});
  else
    out.push_back(lost("rapl", rapl.error(), true));
  return out;
}

bool healthy(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const auto& finding) { return finding.ok || finding.optional; });
}

}  // namespace wattle::agent
