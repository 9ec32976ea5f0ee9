// parts: renders the elements that several commands share.
// Source   objects of docs/reference/api.md
// Errors   none; a missing value shows as "-"
// Threads  any
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "cli/view.hpp"

namespace wattle::cli {

// The controller's default: it places no pod on a node whose telemetry is older.
inline constexpr double kStaleAge_ms = 10'000;
// Pressure at or above this share of time stalled is highlighted.
inline constexpr double kPressure_ratio = 0.10;

// "up", "stale" or "offline", with its tone, which names and ages share.
Cell state_cell(const View& node);
Cell pressure_cell(std::optional<double> ratio);
// "users 4.1 ms" for the first target that answered; "users lost" if no target did.
Cell latency_cell(const View& node);
inline const std::string kNoNodes = "no nodes yet: no agent has registered\n";
Table nodes_table(const std::vector<View>& nodes, bool wide);
Table pods_table(const std::vector<View>& pods, bool wide);
// Groups findings by the nodes that report them: nodes with the same findings share one entry. Findings that are ok
// appear only in wide output.
class FindingsText {
 public:
  explicit FindingsText(const Style& style) : style_(style) {}
  void add(const std::string& where, const std::vector<View>& findings);
  std::string text() const;  // an empty line precedes each group; empty if there are no findings

 private:
  Style style_;
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;  // findings and places, in the order of add()
};
// The largest share of time that work of a node waits for CPU, memory or I/O.
std::optional<double> most_pressure(const View& psi);
// Returns the source of a decision in one word: the name of a policy that is a rule, otherwise "network", "plan" and so
// on.
std::string decider_of(const View& decision);
// "default/web-1"; the UID if the name is unknown.
std::string pod_label(const View& name, const View& name_space, const View& uid);
// Renders a document's `cpu_wait` or `late`: "at most 1.0% of pods' time; measured 0.8%, default scheduler 0.5%, price
// 3.1 W a core". Marks an exceeded budget and shows by how much. States if a budget is not in force.
Cell waiting_cell(const View& cpu_wait);
Cell late_cell(const View& late);
// Renders the document `status`: "812.5 W, of which 22.3 W est".
std::string power_text(const View& status);
// Money and CO2 of an object's joules by the controller's tariff: "0.43 EUR, 530 g CO2"; empty without a tariff.
// `ending` of the keys: "_per_day".
std::string cost_text(const View& object, const std::string& ending = {});
// The same for the energy since a node or pod was first seen, for a table.
std::string cost_cell(const View& object);
// The modelled saving, and its value per day.
std::string modelled_text(const View& modelled);
// Watts of a node beyond its idle watts.
std::optional<double> active_w(const View& node);
// Renders the object `idle` of the documents `status` and `fleet`: "640.0 W (78%), 3.20 EUR per day; if the 2 nodes
// without pods slept: 84.0 W less (projection: ...)".
std::string idle_text(const View& idle);
// Renders mode, watts and decisions of the document `status` in one line.
std::string status_line(const View& status);
// Name and value in two columns. Each "; " of a value begins a new line, and lines are wrapped.
std::string pairs_text(const std::vector<std::pair<std::string, Cell>>& pairs, bool colour);
// Adds each "NAME=NUMBER" as argument weight.NAME of a query.
Status add_weights(const std::vector<std::string>& given, std::map<std::string, std::string>& arguments);
// "worker-1, worker-2, worker-3 and 4 more"
std::string first_of(std::vector<std::string> names);
std::string joined(const std::vector<std::string>& words, std::string_view between);

}  // namespace wattle::cli
