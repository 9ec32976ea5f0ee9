// `wattle model list|save|load|eval|record|add`: shows the stored networks and the serving one, and changes them.
#include <CLI/CLI.hpp>
#include <array>

#include "cli/human.hpp"
#include "cli/model_files.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/json/value.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {

struct ModelAction {
  std::string_view name, help, query;
};
constexpr std::array kModelActions{
    ModelAction{"list", "List the stored networks and the network in use", "models"},
    ModelAction{"save", "Store the current network under a name", "model-save"},
    ModelAction{"load", "Use another network, and continue learning from it", "model-load"},
    ModelAction{"eval", "Compare a network with the one in use on recorded decisions", "model-eval"}};

std::string shortened(const View& digest) {
  const auto text = digest.text();
  return text ? text->substr(0, 12) : std::string(kAbsent);
}

std::string side_text(const View& side) {
  return "reward " + number(side["mean_reward"].number(), 3) + " over the " + count(side["taken"]) +
         " decisions that match its own choice; residual " + number(side["max_abs_residual"].number(), 3) + " at most";
}

std::string serving_label(const View& serving) {
  return "in use: " + serving["name"].text_or("learned here") + ", step " + count(serving["step"]);
}

std::string difference_text(const View& difference) {
  if (!difference.present()) return "unknown: needs 20 outcomes of each network where the two differ";
  return number(difference["mean"].number(), 3) + " per decision, 95% interval " +
         number(difference["low"].number(), 3) + " to " + number(difference["high"].number(), 3) +
         ", where the two differ";
}

Result<std::string> render_eval(const View& eval, const Style& style) {
  const View serving = eval["serving"], model = eval["model"];
  const auto ratio = eval["same_choice_ratio"].number();
  std::vector<std::pair<std::string, Cell>> pairs{
      {"decisions", count(eval["decisions"]) + ", " + count(eval["outcomes"]) + " with an outcome; the two differ in " +
                        count(eval["differ"])},
      {"same choice", ratio ? number(100 * *ratio, 1) + "%" : std::string(kAbsent)},
      {"Q difference",
       number(eval["mean_abs_q_difference"].number(), 4) + " on average, chosen node relative to the others"},
      {serving_label(serving), side_text(serving)},
      {model["name"].text_or() + ", step " + count(model["step"]), side_text(model)},
      {"reward gained", difference_text(eval["reward_difference"]) + ", preset " + eval["preset"].text_or()}};
  if (const auto gated = serving["gated"].text()) pairs.emplace_back("not in use", *gated);
  return printable_lines(pairs_text(pairs, style.colour));
}

// Describes the progress of learning; empty if nothing has been learned.
std::string learning_text(const View& learning) {
  if (!learning["reward_centre"].number()) return {};
  return "Learning: mean reward " + number(learning["mean_reward"].number(), 3) + " of the last hundred outcomes, " +
         number(learning["reward_centre"].number(), 3) + " subtracted from each; TD error " +
         number(learning["td_error"].number(), 3) + ", loss " + number(learning["loss"].number(), 4) + "\n";
}

}  // namespace

Result<std::string> render_models(const Json& document, const Style& style) {
  const View view(document);
  if (view["eval"].present()) return render_eval(view["eval"], style);
  WATTLE_TRY(const std::vector<View> models, view.list("models"));
  Table table{{{"NAME"},
               {"STEP", Align::right},
               {"SAVED"},
               {"SERVES"},
               {"SIZE", Align::right},
               {"SHA-256"},
               {"SCHEMA"},
               {"FAULT"}},
              {}};
  for (const View& model : models) {
    const bool active = model["active"].flag() == true;
    table.rows.push_back({model["name"].text_or(),
                          count(model["step"]),
                          utc(model["saved_wall_ns"].number()),
                          active ? Cell{"yes", Tone::good} : Cell{"no"},
                          bytes(model["bytes"].number()),
                          shortened(model["sha256"]),
                          shortened(model["schema"]),
                          {model["fault"].text_or(""), Tone::warning}});
  }
  const View serving = view["serving"];
  const std::string from = serving["loaded_from"].text() ? "loaded from " + serving["loaded_from"].text_or()
                                                         : std::string("changed by learning since it was loaded");
  const auto gated = serving["gated"].text();
  const std::string kept = models.empty() ? "no stored networks yet (store one with `wattle model save NAME`)\n"
                                          : to_text(table, style.colour);
  return kept + "\n" +
         printable_lines("In use: " + shortened(serving["network_sha256"]) + ", " + from + "\n" +
                         (gated ? "The network does not decide now. Decisions are " + *gated + ".\n" : "") +
                         learning_text(view["learning"]));
}

void declare_model(CLI::App& command, Arguments& arguments) {
  command.require_subcommand(1);
  for (const ModelAction& action : kModelActions) {
    auto* sub = command.add_subcommand(std::string(action.name), std::string(action.help));
    sub->fallthrough();
    sub->callback([&arguments, name = action.name] { arguments.action = name; });
    if (action.name == "list") continue;
    sub->add_option("NAME", arguments.name, "Name of a network or number of a checkpoint")->required();
    if (action.name != "eval") sub->add_option("--why", arguments.why, "Reason, recorded with the change");
  }
  declare_model_files(command, arguments);
}

int run_model(const Invocation& invocation) {
  if (invocation.arguments.action == "record") return run_model_record(invocation);
  std::map<std::string, std::string> pairs;
  if (!invocation.arguments.name.empty()) pairs["name"] = invocation.arguments.name;
  if (!invocation.arguments.why.empty()) pairs["why"] = invocation.arguments.why;
  if (invocation.arguments.action == "add") {
    auto network = network_parts(invocation.arguments.words.at(0));
    if (!network) return complain(invocation, network.error(), kProblem);
    pairs.merge(*network);
    return show(invocation, "model-add", pairs, render_models);
  }
  for (const ModelAction& action : kModelActions)
    if (action.name == invocation.arguments.action)
      return show(invocation, std::string(action.query), pairs, render_models);
  return complain(invocation, {Errc::malformed, "model", "a command is missing", "see wattle model --help"}, kUsage);
}

}  // namespace wattle::cli
