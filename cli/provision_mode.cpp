#include "cli/provision_mode.hpp"

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "common/printable.hpp"

namespace wattle::cli {
namespace {

std::string share_text(const View& ratio) {
  const auto value = ratio.number();
  return value ? number(100 * *value, 1) + "%" : std::string(kAbsent);
}

std::string sized_text(const View& size) {
  if (!size.present()) return std::string(kAbsent);
  return number(size["cpu_cores"], 3) + " / " + bytes(size["memory_bytes"]);
}

// "throttled 0.1% -> 0.3%, waited 1.0% -> 1.2%, kills 0 -> 0"; before the first step, what the pods would have
// experienced.
std::string sizing_measured(const View& sizing) {
  const View measured = sizing["measured"], shadow = sizing["shadow"];
  const auto change = [&](const char* what) {
    return share_text(measured["before"][what]) + " -> " + share_text(measured["now"][what]);
  };
  if (measured.present())
    return "throttled " + change("throttled_ratio") + ", waited " + change("cpu_waited_ratio") + ", OOM kills " +
           count(measured["kills_before"]) + " -> " + count(measured["kills"]);
  if (!shadow.present()) return std::string(kAbsent);
  return "would exceed CPU " + share_text(shadow["over_cpu_ratio"]) + ", memory " + count(shadow["over_memory"]) +
         " times";
}

std::string sizing_why(const View& sizing) {
  const std::string waits = sizing["waits"].text_or(""), why = sizing["why"].text_or("");
  return why.empty() || why == waits ? waits : why;
}

Tone sizing_tone(const std::string& state) {
  if (state == "restoring" || state == "waiting") return Tone::warning;
  return state == "held" ? Tone::good : Tone::plain;
}

Result<std::string> render_sizing(const Json& document, const Style& style) {
  const View view(document), sizing = view["sizing"];
  WATTLE_TRY(const std::vector<View> rows, view.list("workloads"));
  std::vector<std::string> counts;
  for (const auto& [state, owners] : sizing["owners"].members()) counts.push_back(count(owners) + " " + state);
  std::vector<std::pair<std::string, Cell>> pairs{{"mode", sizing["mode"].text_or()},
                                                  {"since", utc_s(sizing["since_s"])},
                                                  {"who", sizing["who"].text_or()},
                                                  {"owners", joined(counts, ", ")}};
  if (const std::string why = sizing["why"].text_or(""); !why.empty()) pairs.emplace_back("why", why);
  if (sizing["may_set"].flag() == false)
    pairs.emplace_back("sets", "nothing: provisioning.level is " + view["level"].text_or());
  if (const std::string problem = sizing["problem"].text_or(""); !problem.empty())
    pairs.emplace_back("kept", Cell{"no: " + problem, Tone::warning});
  for (const View& alarm : sizing["alarms"].items()) pairs.emplace_back("alarm", Cell{alarm.text_or(), Tone::warning});
  std::string text = printable_lines(pairs_text(pairs, style.colour));
  if (rows.empty()) return text + "no owner permits lower requests (annotation wattle.dev/shrink: allowed)\n";
  Table table{{"WORKLOAD", "STATE", ">PODS", "ORIGINAL", "SET", "GOAL", "MEASURED", "WHY"}, {}};
  for (const View& row : rows) {
    const View of = row["sizing"];
    const std::string state = of["state"].text_or();
    table.rows.push_back({row["workload"].text_or(), Cell{state, sizing_tone(state)},
                          count(of["pods_lowered"]) + "/" + count(row["pods"]),
                          sized_text(of["original"].present() ? of["original"] : row["original"]),
                          sized_text(of["target"]), sized_text(of["goal"]), sizing_measured(of), sizing_why(of)});
  }
  return text + "\n" + to_text(table, style.colour);
}

struct ModeOptions {
  std::string mode, why;
  bool force = false;
};

Outcome set_sizing_mode(const Invocation& invocation, const ModeOptions& options) {
  if (options.mode.empty() && (options.force || !options.why.empty()))
    return misuse({Errc::malformed, "no mode given", "--why and --force belong to a change", "pass MODE"});
  if (options.mode.empty()) return show(invocation, "provision", {{"only", "sized"}}, render_sizing);
  std::map<std::string, std::string> pairs{{"mode", options.mode}};
  if (!options.why.empty()) pairs["why"] = options.why;
  if (options.force) pairs["force"] = "yes";
  return show(invocation, "provision-mode", pairs, render_sizing);
}

}  // namespace

void declare_provision_mode(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, set_sizing_mode);
  command.add_option("MODE", options.mode, "off, shadow, canary:P% or live (default: show the mode and the owners)");
  command.add_option("--why", options.why, "Reason, recorded with the change");
  command.add_flag("--force", options.force, "Ignore a closed gate; needs --why");
}

}  // namespace wattle::cli
