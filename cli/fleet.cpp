#include "cli/fleet.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/parts.hpp"
#include "cli/power_states.hpp"
#include "cli/pre/rules.hpp"
#include "cli/view.hpp"
#include "common/formatted.hpp"

namespace wattle::cli {

namespace {
constexpr std::size_t kNamesShown = 5;
constexpr double kClocksNear_s = 1;        // well above the delay of a record
constexpr double kClocksBearable_s = 300;  // beyond it, tokens and certificates count as expired or not yet valid

void judge_agents(Findings& out, const View& nodes, const std::optional<std::vector<std::string>>& expected) {
  std::vector<std::string> away, missing, strange;
  std::set<std::string> known;
  for (const View& node : nodes.items()) {
    const std::string name = node["name"].text_or();
    known.insert(name);
    if (node["connected"].flag() == false && !may_be_silent(node)) away.push_back(name);
  }
  if (!away.empty())
    out.failed("agents", "disconnected: " + some_of(away, known.size()), "check the agents' logs on these nodes");
  if (!expected) return;
  for (const std::string& name : *expected)
    if (!known.contains(name)) missing.push_back(name);
  const std::set<std::string> wanted(expected->begin(), expected->end());
  for (const std::string& name : known)
    if (!wanted.contains(name)) strange.push_back(name);
  if (!missing.empty())
    out.failed("agents.missing", "no agent registered: " + some_of(missing, expected->size()),
               "kubectl -n wattle-agent get pods -o wide; check taints that the DaemonSet does not tolerate");
  else
    out.ok("agents.missing", "every node of the cluster has an agent");
  if (!strange.empty())
    out.warn("agents.names", "not in the cluster: " + some_of(strange, known.size()),
             "start the agents with the names of the nodes: wattle-agent run --node");
}

void judge_versions(Findings& out, const View& nodes, const View& status) {
  const std::string ours = status["version"].text_or("");
  std::map<std::string, std::vector<std::string>> others;
  std::size_t all = 0;
  for (const View& node : nodes.items()) {
    ++all;
    const std::string theirs = node["agent_version"].text_or("");
    if (!theirs.empty() && theirs != ours) others[theirs].push_back(node["name"].text_or());
  }
  const auto controller = parse_version(ours);
  for (const auto& [version, names] : others) {
    const auto agent = parse_version(version);
    const bool near =
        agent && controller && agent->major == controller->major && std::abs(agent->minor - controller->minor) <= 1;
    const std::string detail = "agent version " + version + ", controller version " + ours + ": " + some_of(names, all);
    if (near)
      out.warn("versions", detail, "finish the upgrade");
    else
      out.failed("versions", detail + "; only one minor version apart is tested", "upgrade the older component");
  }
  if (others.empty() && all > 0) out.ok("versions", "all " + ours);
}

std::string seconds_text(double value_s) { return formatted("%+.1f s", value_s); }

// Placement uses only monotonic clocks; displayed times, tokens and certificates do not.
void judge_clocks(Findings& out, const View& doctor) {
  std::vector<std::string> off;
  double worst_s = 0;
  std::size_t known = 0;
  for (const View& node : doctor["nodes"].items()) {
    const auto ahead_s = node["clock_ahead_s"].number();
    if (!ahead_s || node["connected"].flag() == false) continue;
    ++known;
    if (std::abs(*ahead_s) < kClocksNear_s) continue;
    off.push_back(node["name"].text_or() + " " + seconds_text(*ahead_s));
    if (std::abs(*ahead_s) > std::abs(worst_s)) worst_s = *ahead_s;
  }
  const std::string detail = "clock differs from the controller's: " + some_of(off, known);
  if (std::abs(worst_s) >= kClocksBearable_s)
    out.failed("clocks", detail,
               "synchronise the clocks: timedatectl set-ntp true; tokens and certificates fail with this difference");
  else if (!off.empty())
    out.warn("clocks", detail, "synchronise the clocks: timedatectl set-ntp true");
  else if (known > 0)
    out.ok("clocks", "within 1 s of the controller's");
}

// Reports a source that several nodes lack once, so that the table of a large fleet stays readable.
void judge_sources(Findings& out, const View& doctor) {
  struct Lack {
    std::vector<std::string> names;
    std::string detail, fix;
  };
  std::map<std::string, Lack> lacks;
  const auto nodes = doctor["nodes"].items();
  for (const View& node : nodes)
    for (const View& finding : node["findings"].items()) {
      if (finding["state"].text() == "ok" || finding["state"].text() == "absent") continue;
      Lack& lack = lacks[finding["name"].text_or()];
      if (lack.names.empty()) lack = {{}, finding["detail"].text_or(""), finding["fix"].text_or("")};
      lack.names.push_back(node["name"].text_or());
    }
  for (const auto& [name, lack] : lacks)
    if (lack.names.size() > 1 && name != "energy")  // judge_energy reports it
      out.warn(name, "lost on " + some_of(lack.names, nodes.size()) + "; " + lack.detail, lack.fix);
}

void judge_energy(Findings& out, const View& nodes) {
  std::vector<std::string> modelled;
  std::size_t all = 0;
  for (const View& node : nodes.items()) {
    ++all;
    const std::string source = node["energy_source"].text_or("none");
    if (source == "none" || source == "estimated") modelled.push_back(node["name"].text_or());
  }
  if (!modelled.empty())
    out.warn("energy", "not measured: " + some_of(modelled, all),
             "run wattle-agent doctor on the node, or set estimate: {idle_w, max_w} for its type");
  else if (all > 0)
    out.ok("energy", "measured on every node");
}
}  // namespace

std::string some_of(const std::vector<std::string>& names, std::size_t all) {
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown)));
  if (shown.size() < names.size()) shown.emplace_back("...");
  return std::to_string(names.size()) + " of " + std::to_string(all) + " nodes: " + joined(shown, ", ");
}

std::vector<Finding> judge_fleet(const Json& doctor, const Json& nodes, const Json& status,
                                 const std::optional<std::vector<std::string>>& expected_nodes) {
  Findings out("fleet");
  const View list = View(nodes)["nodes"];
  judge_agents(out, list, expected_nodes);
  judge_versions(out, list, View(status));
  judge_clocks(out, View(doctor));
  judge_sources(out, View(doctor));
  judge_energy(out, list);
  return std::move(out).all();
}

}  // namespace wattle::cli
