// `wattle policy get|set|promote|rollback`: shows the policy in force, its changes with author and time, and its
// savings; changes it.
#include <CLI/CLI.hpp>
#include <array>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/json/value.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {

std::string percent(const View& ratio) {
  const auto value = ratio.number();
  return value ? number(100 * *value, 1) + "%" : std::string(kAbsent);
}

std::string saving_text(const View& saving) {
  const std::string blocks =
      count(saving["blocks_treated"]) + " treated and " + count(saving["blocks_control"]) + " control blocks";
  if (!saving["saving_ratio"].present()) return "unknown: " + blocks + " measured";
  return percent(saving["saving_ratio"]) + " energy per requested core-hour, 95% interval " +
         percent(saving["saving_low"]) + " to " + percent(saving["saving_high"]) + ", " + blocks;
}

std::string regression_text(const View& regression) {
  if (regression["ready"].flag() != true)
    return "waiting for control placements: " + count(regression["control_rewards"]) + " of " +
           count(regression["control_rewards_needed"]);
  return "level " + number(regression["level"].number(), 2) + " of " + number(regression["limit"].number(), 0) + ", " +
         count(regression["judged"]) + " placements evaluated";
}

std::string block_text(const View& block) {
  const auto left_s = block["left_s"].number();
  return count(block["number"]) + (block["treated"].flag() == true ? ", treated" : ", control") +
         (block["measured"].flag() == true ? "" : ", not measured yet") + ", ends in " +
         age(left_s ? std::optional(*left_s * 1000) : std::nullopt);
}

std::string promotion_text(const View& promotion) {
  const auto to = promotion["to"].text();
  if (!to) return "no further mode";
  if (promotion["open"].flag() == true) return "to " + *to + " is open";
  return "to " + *to + " is closed: " + promotion["closed_by"].text_or();
}

std::string reward_text(const View& reward) {
  std::string text = reward["preset"].text_or();
  std::vector<std::string> weights;
  for (const auto& [name, value] : reward["weights"].members()) weights.push_back(name + " " + value.any());
  if (text == "weighted") text += " (" + joined(weights, ", ") + ")";
  if (text == "expression") text += " (" + reward["expression"].text_or() + ")";
  return text;
}

Table changes_table(const std::vector<View>& changes) {
  Table table{{{"CHANGE", Align::right}, {"TIME"}, {"WHO"}, {"WHAT"}, {"WHY"}}, {}};
  for (const View& change : changes) {
    const auto at_s = change["at_s"].number();
    table.rows.push_back({count(change["id"]), utc(at_s ? std::optional(*at_s * 1e9) : std::nullopt),
                          change["who"].text_or(), change["what"].text_or(), change["why"].text_or("")});
  }
  return table;
}

// Describes changes that are in force but not in the control file; empty if there are none.
std::string unwritten_text(const View& unwritten) {
  if (!unwritten.present()) return "";
  const std::string changes = count(unwritten["changes"]);
  return changes + (changes == "1" ? " change is" : " changes are") +
         " in force but not saved, and would be lost at a restart of the controller: " + unwritten["error"].text_or();
}

struct Action {
  std::string_view name, help, query;
};
constexpr std::array kPolicyActions{
    Action{"get", "Show mode, policy, reward, saving of the canary and the history of changes", "policy"},
    Action{"set", "Change mode, policy, reward or limits", "policy-set"},
    Action{"promote", "Advance to the next mode: off, shadow, canary:10%, live", "policy-promote"},
    Action{"rollback", "Return to the previous settings, or to those of a change", "policy-rollback"}};

using Pairs = std::map<std::string, std::string>;

Result<Pairs> pairs_of(const Arguments& given) {
  Pairs pairs;
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty()) pairs[name] = value;
  };
  put("why", given.why);
  if (given.action != "get" && given.force) pairs["force"] = "yes";
  if (given.action == "rollback") put("to", given.to);
  if (given.action != "set") return pairs;
  put("mode", given.mode);
  put("policy", given.policy);
  put("reward", given.reward);
  put("load", given.load);
  put("expression", given.expression);
  put("cpu_wait", given.cpu_wait);
  put("late", given.late);
  WATTLE_CHECK(add_weights(given.weights, pairs));
  if (pairs.size() == pairs.count("why") + pairs.count("force"))
    return fail(Errc::malformed, "no setting given", "at least one setting must change",
                "pass --mode, --policy, --reward or another option; see wattle policy set --help");
  return pairs;
}

}  // namespace

Result<std::string> render_policy(const Json& document, const Style& style) {
  const View policy(document);
  WATTLE_TRY(const std::vector<View> changes, policy.list("changes"));
  std::vector<std::pair<std::string, Cell>> pairs{
      {"mode", policy["mode"].text_or() + ", current arm " + policy["arm"].text_or()},
      {"policy", policy["policy"].text_or()},
      {"reward", reward_text(policy["reward"])}};
  if (policy["ranked_by"].present()) pairs.emplace_back("ranked by", policy["ranked_by"].text_or());
  if (policy["block"].present()) pairs.emplace_back("block", block_text(policy["block"]));
  if (policy["cpu_wait"].present()) pairs.emplace_back("waiting", waiting_cell(policy["cpu_wait"]));
  if (policy["late"].present()) pairs.emplace_back("late", late_cell(policy["late"]));
  pairs.emplace_back("saving",
                     policy["modelled"].present() ? modelled_text(policy["modelled"]) : saving_text(policy["saving"]));
  pairs.emplace_back("regression", regression_text(policy["regression"]));
  pairs.emplace_back("promotion", promotion_text(policy["promotion"]));
  if (const std::string unwritten = unwritten_text(policy["unwritten"]); !unwritten.empty())
    pairs.emplace_back("kept", Cell{"no: " + unwritten, Tone::warning});
  else if (policy["durable"].flag() == false)
    pairs.emplace_back("kept", Cell{"no: cannot write to data_dir", Tone::warning});
  return printable_lines(pairs_text(pairs, style.colour)) + "\n" + to_text(changes_table(changes), style.colour);
}

void declare_policy(CLI::App& command, Arguments& arguments) {
  command.require_subcommand(1);
  for (const Action& action : kPolicyActions) {
    auto* sub = command.add_subcommand(std::string(action.name), std::string(action.help));
    sub->fallthrough();
    sub->callback([&arguments, name = action.name] { arguments.action = name; });
    if (action.name != "get") {
      sub->add_option("--why", arguments.why, "Reason, recorded with the change");
      sub->add_flag("--force", arguments.force, "Ignore a closed gate; needs --why");
    }
    if (action.name == "set") {
      sub->add_option("--mode", arguments.mode, "off, shadow, canary:P% or live");
      sub->add_option("--policy", arguments.policy, "dqn, planner, amortised, ...");
      sub->add_option("--reward", arguments.reward, "Preset");
      sub->add_option("--load", arguments.load, "Load measure of presets ee and lb: pods, cpu, memory or disk");
      sub->add_option("--expression", arguments.expression,
                      "Formula of preset expression, for example \"energy + 2 * latency\"");
      sub->add_option(
          "--cpu-wait", arguments.cpu_wait,
          "Share of time that pods may wait for CPU, for example 2% (default: the share under the default scheduler)");
      sub->add_option(
          "--late", arguments.late,
          "Share of time that pods may exceed their soft latency limit, for example 2% (default: the share under the "
          "default scheduler)");
      sub->add_option("--weight", arguments.weights, "Weight of preset weighted as NAME=NUMBER; can be repeated");
    }
    if (action.name == "rollback") sub->add_option("--to", arguments.to, "Number of the change");
  }
}

int run_policy(const Invocation& invocation) {
  for (const Action& action : kPolicyActions) {
    if (action.name != invocation.arguments.action) continue;
    const auto pairs = pairs_of(invocation.arguments);
    if (!pairs) return complain(invocation, pairs.error(), kUsage);
    return with_controller(invocation, [&](Controller& controller) -> Result<int> {
      WATTLE_TRY(Json document, controller.ask(std::string(action.query), *pairs));
      // The answer to a change is incomplete, so query the whole policy.
      if (action.name != "get") {
        WATTLE_TRY(document, controller.ask("policy", {}));
      }
      WATTLE_CHECK(print(invocation, document, render_policy));
      const std::string unwritten = action.name == "get" ? "" : unwritten_text(View(document)["unwritten"]);
      if (unwritten.empty()) return kOk;
      return complain(invocation,
                      {Errc::exhausted, "policy " + std::string(action.name), unwritten,
                       "free space in the controller's data_dir; the controller then retries within a second"},
                      kProblem);
    });
  }
  return complain(invocation, {Errc::malformed, "policy", "a command is missing", "see wattle policy --help"}, kUsage);
}

}  // namespace wattle::cli
