// `wattle status`: shows the controller's state.

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/power_states.hpp"
#include "cli/show.hpp"

namespace wattle::cli {

namespace {
// "2 of 2 shims, last request 3 s ago, 4% of 250 pods bound in the last 15 min without a request"
Cell asked_by(const View& status) {
  const std::vector<View> shims = status["shims"].items();
  std::size_t connected = 0;
  for (const View& shim : shims) connected += shim["connected"].flag() == true ? 1 : 0;
  std::string text =
      shims.empty() ? "no shim" : std::to_string(connected) + " of " + std::to_string(shims.size()) + " shims";
  const View asks = status["asks"];
  const auto age_ms = asks["last_ask_age_ms"].number();
  text += age_ms ? "; last request " + age(age_ms) + " ago" : "; no request yet";
  const auto bound = asks["pods_bound"].number(), unasked = asks["pods_unasked"].number();
  if (bound && unasked && *bound > 0)
    text += "; " + percent(*unasked / *bound) + " of " + count(asks["pods_bound"]) +
            " pods bound in the last 15 min without a request";
  return {text, connected < shims.size() || (bound && *bound > 0 && unasked == bound) ? Tone::bad : Tone::plain};
}
// The decider and why; if several decided, also "network 97, plan 3 of the newest 100".
std::string decided_by(const View& status) {
  std::string out = status["network_gated"].text_or("");
  if (constexpr std::string_view kChoice = "the choice of "; out.starts_with(kChoice)) out.erase(0, kChoice.size());
  if (out.empty()) out = "the policy " + status["policy"].text_or();
  const auto who = status["decided_by"].members();
  if (who.empty()) return out + "; no decisions yet";
  if (who.size() == 1) return out;
  double all = 0;
  std::string counts;
  for (const auto& [name, decisions] : who) {
    counts += (counts.empty() ? "" : ", ") + name + " " + count(decisions);
    all += decisions.number().value_or(0);
  }
  return out + "; " + counts + " of the newest " + count(all);
}
}  // namespace

Result<std::string> render_status(const Json& document, const Style& style) {
  const View status(document);
  if (!status["mode"].present() && !status["version"].present())
    return fail(Errc::malformed, "the controller's answer", "contains neither 'version' nor 'mode'",
                "check that controller and wattle have the same version");
  const auto started = status["started_wall_ns"].number();
  // These counters start at 0 with the controller's process; the store has earlier ones.
  const std::string since = started ? " since " + utc(started) : std::string(" since the controller's start");
  const auto nodes = status["nodes"].number();
  const auto connected = status["nodes_connected"].number();
  const double asleep = status["nodes_asleep"].number().value_or(0);
  const std::string why = status["mode_reason"].text_or("");
  const std::string per_day = cost_text(status, "_per_day");
  const auto integer = [&](const char* key) { return count(status[key]); };
  std::vector<std::pair<std::string, Cell>> pairs;
  if (status["modelled"].present()) pairs.push_back({"saving", modelled_text(status["modelled"])});
  for (const View& alarm : status["alarms"].items())
    pairs.push_back({"alarm", {alarm["text"].text_or() + " (" + alarm["command"].text_or() + ")", Tone::bad}});
  pairs.insert(pairs.end(),
               {{"mode", status["mode"].text_or() + (why.empty() ? "" : " (" + why + ")")},
                {"policy", status["policy"].text_or()},
                {"nodes",
                 {integer("nodes_connected") + " of " + integer("nodes") + " connected" + asleep_text(status),
                  nodes && connected && *connected + asleep < *nodes ? Tone::bad : Tone::plain}},
                {"workloads", integer("workloads")},
                {"power", power_text(status) + (per_day.empty() ? "" : "; " + per_day + " per day")},
                {"idle", idle_text(status["idle"])}});
  if (const View budgets = status["budgets"]; budgets.present()) {
    pairs.push_back({"waiting", waiting_cell(budgets["cpu_wait"])});
    pairs.push_back({"late", late_cell(budgets["late"])});
  }
  pairs.push_back({"decided by", decided_by(status)});
  for (const View& one : status["who_serves"].items())
    pairs.push_back({one["serves"].flag() == true ? "in use" : "not in use", one["text"].text_or()});
  pairs.insert(pairs.end(), {{"decisions", integer("decisions") + since + ", " + number(status["decisions_per_s"], 1) +
                                               "/s; " + integer("neutral") + " without a preference"},
                             {"placements", integer("placements") + since},
                             {"outcomes", integer("outcomes") + since + "; mean reward of the last hundred " +
                                              number(status["mean_reward"], 3)},
                             {"learning", integer("gradient_steps") + " gradient steps, " +
                                              number(status["gradient_steps_per_s"], 1) + "/s; " + integer("replay") +
                                              " outcomes to learn from; loss " + number(status["loss"], 4)}});
  if (status["shims"].present()) pairs.push_back({"requests", asked_by(status)});
  for (const View& withheld : status["withheld"].items())
    if (withheld["why"].text_or() != status["network_gated"].text_or())  // "decided by" has this reason
      pairs.push_back({"withheld", {withheld["what"].text_or() + ": " + withheld["why"].text_or(), Tone::warning}});
  if (style.wide)
    pairs.insert(
        pairs.end(),
        {{"network", "step " + integer("model_step") +
                         (status["model_from"].text() ? " from " + status["model_from"].text_or() : std::string()) +
                         "; explores " + percent(status["epsilon"].number()) + " of decisions"},
         {"decided in",
          microseconds(status["decide_p50_us"]) + " p50, " + microseconds(status["decide_p99_us"]) + " p99"},
         {"samples", integer("samples") + since + "; " + integer("samples_refused") + " refused"},
         {"epoch", integer("epoch")}});
  pairs.push_back({"version", status["version"].text_or() + ", up " + age_s(status["uptime_s"])});
  return pairs_text(pairs, style.colour);
}

void declare_status(CLI::App& command, Run& chosen) {
  runs(command, chosen, [](const Invocation& invocation) { return show(invocation, "status", {}, render_status); });
}

}  // namespace wattle::cli
