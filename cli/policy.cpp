// `wattle policy get|set|promote|rollback`: shows the policy in force, its changes with author and time, and its
// savings; changes it.
#include <array>

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/parse.hpp"
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
  const std::string with = cost_text(saving, "_treated_per_core_hour"),
                    without = cost_text(saving, "_control_per_core_hour");
  return percent(saving["saving_ratio"]) + " energy per requested core-hour; 95% interval " +
         percent(saving["saving_low"]) + " to " + percent(saving["saving_high"]) + "; " + blocks +
         (with.empty() ? "" : "; " + with + " per core-hour with advice, " + without + " without");
}

std::string regression_text(const View& regression) {
  if (regression["ready"].flag() != true)
    return "waiting for control placements: " + count(regression["control_rewards"]) + " of " +
           count(regression["control_rewards_needed"]);
  return "level " + number(regression["level"], 2) + " of " + number(regression["limit"], 0) + "; " +
         count(regression["judged"]) + " placements evaluated";
}

std::string block_text(const View& block) {
  return count(block["number"]) + (block["treated"].flag() == true ? ", treated" : ", control") +
         (block["measured"].flag() == true ? "" : ", not measured yet") + "; ends in " + age_s(block["left_s"]);
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

// A table of changes; the reason of each is wrapped below it.
std::string changes_text(const std::vector<View>& changes, bool colour) {
  Table table{{">CHANGE", "TIME", "WHO", "WHAT"}, {}};
  for (const View& change : changes)
    table.rows.push_back({count(change["id"]), utc_s(change["at_s"]), change["who"].text_or(), ""});
  const Layout layout = layout_of(table);
  std::size_t indent = 2 * (layout.widths.size() - 1);
  for (std::size_t i = 0; i + 1 < layout.widths.size(); ++i) indent += layout.widths[i];
  std::string text = to_text(table, colour), out;
  std::size_t row = 0;
  parse::for_each_line(text, [&](std::string_view line) {
    if (row++ == 0) {
      out.append(line) += '\n';
      return;
    }
    const View& change = changes[row - 2];
    const std::string what = wrapped(change["what"].text_or(), indent), start(line);
    out += start + std::string(indent - display_width(start), ' ') + what.substr(std::min(indent, what.size())) +
           wrapped(change["why"].text_or(""), indent);
  });
  return out;
}

// Describes changes that are in force but not in the control file; empty if there are none.
std::string unwritten_text(const View& unwritten) {
  if (!unwritten.present()) return "";
  const std::string changes = count(unwritten["changes"]);
  return changes + (changes == "1" ? " change is" : " changes are") +
         " in force but not saved, and would be lost at a restart of the controller: " + unwritten["error"].text_or();
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
  for (const View& one : policy["candidates"].items())
    if (one["measured"].present()) pairs.emplace_back("measured", one["text"].text_or());
  if (policy["block"].present()) pairs.emplace_back("block", block_text(policy["block"]));
  if (policy["cpu_wait"].present()) pairs.emplace_back("waiting", waiting_cell(policy["cpu_wait"]));
  if (policy["late"].present()) pairs.emplace_back("late", late_cell(policy["late"]));
  if (policy["modelled"].present()) pairs.emplace_back("saving", modelled_text(policy["modelled"]));
  if (policy["block"].present() || policy["saving"]["saving_ratio"].present())
    pairs.emplace_back("measured", saving_text(policy["saving"]));
  pairs.emplace_back("regression", regression_text(policy["regression"]));
  pairs.emplace_back("promotion", promotion_text(policy["promotion"]));
  if (const std::string unwritten = unwritten_text(policy["unwritten"]); !unwritten.empty())
    pairs.emplace_back("kept", Cell{"no: " + unwritten, Tone::warning});
  else if (policy["durable"].flag() == false)
    pairs.emplace_back("kept", Cell{"no: cannot write to data_dir", Tone::warning});
  return printable_lines(pairs_text(pairs, style.colour)) + "\n" + changes_text(changes, style.colour);
}

namespace {
using PolicyPairs = std::map<std::string, std::string>;

void put_given(PolicyPairs& pairs, const char* name, const std::string& value) {
  if (!value.empty()) pairs[name] = value;
}

struct ChangeOptions {
  std::string why;
  bool force = false;
};
struct RollbackOptions : ChangeOptions {
  std::string to;
};
struct PolicySetOptions : ChangeOptions {
  std::string mode, policy, reward, load, expression, cpu_wait, late;
  std::vector<std::string> weights;
};

Outcome change_policy(const Invocation& invocation, const char* query, PolicyPairs pairs,
                      const ChangeOptions& options) {
  put_given(pairs, "why", options.why);
  if (options.force) pairs["force"] = "yes";
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    WATTLE_CHECK(controller.ask(query, pairs));
    // The answer to a change is incomplete, so query the whole policy.
    WATTLE_TRY(const Json document, controller.ask("policy", {}));
    WATTLE_CHECK(print(invocation, document, render_policy));
    const std::string unwritten = unwritten_text(View(document)["unwritten"]);
    if (unwritten.empty()) return kOk;
    return fail(Errc::exhausted, "control file", unwritten,
                "free space in the controller's data_dir; the controller then retries within a second");
  });
}

Outcome set_policy(const Invocation& invocation, const PolicySetOptions& options) {
  PolicyPairs pairs;
  put_given(pairs, "mode", options.mode);
  put_given(pairs, "policy", options.policy);
  put_given(pairs, "reward", options.reward);
  put_given(pairs, "load", options.load);
  put_given(pairs, "expression", options.expression);
  put_given(pairs, "cpu_wait", options.cpu_wait);
  put_given(pairs, "late", options.late);
  WATTLE_CHECK(as_misuse(add_weights(options.weights, pairs)));
  if (pairs.empty())
    return misuse({Errc::malformed, "no setting given", "at least one setting must change",
                   "pass --mode, --policy, --reward or another option; see wattle policy set --help"});
  return change_policy(invocation, "policy-set", pairs, options);
}

void declare_policy_change(CLI::App& command, ChangeOptions& options) {
  command.add_option("--why", options.why, "Reason, recorded with the change");
  command.add_flag("--force", options.force, "Ignore a closed gate; needs --why");
}

void declare_policy_get(CLI::App& command, Run& chosen) {
  runs(command, chosen, [](const Invocation& invocation) { return show(invocation, "policy", {}, render_policy); });
}

void declare_policy_set(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, set_policy);
  declare_policy_change(command, options);
  command.add_option("--mode", options.mode, "off, shadow, canary:P% or live");
  command.add_option("--policy", options.policy, "dqn, planner, node-order, ...");
  command.add_option("--reward", options.reward, "Preset");
  command.add_option("--load", options.load, "Load measure of presets ee and lb: pods, cpu, memory or disk");
  command.add_option("--expression", options.expression,
                     "Formula of preset expression, for example \"energy + 2 * latency\"");
  command.add_option(
      "--cpu-wait", options.cpu_wait,
      "Share of time that pods may wait for CPU, for example 2% (default: the share under the default scheduler)");
  command.add_option(
      "--late", options.late,
      "Share of time that pods may exceed their soft latency limit, for example 2% (default: the share under the "
      "default scheduler)");
  command.add_option("--weight", options.weights, "Weight of preset weighted as NAME=NUMBER; can be repeated");
}

void declare_policy_promote(CLI::App& command, Run& chosen) {
  auto& options = runs<ChangeOptions>(command, chosen, [](const Invocation& invocation, const ChangeOptions& given) {
    return change_policy(invocation, "policy-promote", {}, given);
  });
  declare_policy_change(command, options);
}

void declare_policy_rollback(CLI::App& command, Run& chosen) {
  auto& options =
      runs<RollbackOptions>(command, chosen, [](const Invocation& invocation, const RollbackOptions& given) {
        PolicyPairs pairs;
        put_given(pairs, "to", given.to);
        return change_policy(invocation, "policy-rollback", pairs, given);
      });
  declare_policy_change(command, options);
  command.add_option("--to", options.to, "Number of the change");
}

constexpr std::array kPolicyCommands{
    Command{"get", "Show mode, policy, reward, saving of the canary and the history of changes", declare_policy_get},
    Command{"set", "Change mode, policy, reward or limits", declare_policy_set},
    Command{"promote", "Advance to the next mode: off, shadow, canary:10%, live", declare_policy_promote},
    Command{"rollback", "Return to the previous settings, or to those of a change", declare_policy_rollback}};
}  // namespace

void declare_policy(CLI::App& command, Run& chosen) { add_commands(command, kPolicyCommands, chosen); }

}  // namespace wattle::cli
