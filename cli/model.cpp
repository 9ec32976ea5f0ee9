// `wattle model list|save|load|record|add`: shows the stored networks and the serving one, and changes them.
#include <array>

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/list.hpp"
#include "cli/model_files.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"

namespace wattle::cli {

namespace {

std::string shortened(const View& digest) {
  const auto text = digest.text();
  return text ? text->substr(0, 12) : std::string(kAbsent);
}

// Describes the progress of learning; empty if nothing has been learned.
std::string learning_text(const View& learning) {
  if (!learning["reward_centre"].number()) return {};
  return "Learning: mean reward " + number(learning["mean_reward"], 3) + " of the last hundred outcomes, " +
         number(learning["reward_centre"], 3) + " subtracted from each; TD error " + number(learning["td_error"], 3) +
         ", loss " + number(learning["loss"], 4);
}

}  // namespace

Result<std::string> render_models(const Json& document, const Style& style) {
  const View view(document);
  WATTLE_TRY(const std::vector<View> models, view.list("models"));
  Table table{{"NAME", ">STEP", "SAVED", "SERVES", ">SIZE", "SHA-256", "SCHEMA", "FAULT"}, {}};
  for (const View& model : models) {
    const bool active = model["active"].flag() == true;
    table.rows.push_back({model["name"].text_or(),
                          count(model["step"]),
                          utc(model["saved_wall_ns"]),
                          active ? Cell{"yes", Tone::good} : Cell{"no"},
                          bytes(model["bytes"]),
                          shortened(model["sha256"]),
                          shortened(model["schema"]),
                          {model["fault"].text_or(""), Tone::warning}});
  }
  const View serving = view["serving"];
  const std::string from = serving["loaded_from"].text() ? "loaded from " + serving["loaded_from"].text_or()
                                                         : std::string("changed by learning since it was loaded");
  const auto gated = serving["gated"].text();
  const std::string kept =
      models.empty() ? "no stored networks yet (store one with `wattle model save NAME`)\n" : to_text(table, style);
  return kept + "\n" + wrapped("In use: " + shortened(serving["network_sha256"]) + ", " + from, 0) +
         (gated ? wrapped("The network does not decide now. Decisions are " + *gated + ".", 0) : "") +
         wrapped(learning_text(view["learning"]), 0);
}

namespace {
struct ModelOptions {
  std::string name, why;
};

Outcome ask_about(const Invocation& invocation, const char* query, const ModelOptions& options) {
  std::map<std::string, std::string> pairs{{"name", options.name}};
  if (!options.why.empty()) pairs["why"] = options.why;
  return show(invocation, query, pairs, render_models);
}

void declare_model_list(CLI::App& command, Run& chosen) {
  auto& options = runs<ListOptions>(command, chosen, [](const Invocation& invocation, const ListOptions& given) {
    return show_list(invocation, list_of("model list"), given);
  });
  declare_list(command, list_of("model list"), options);
}

ModelOptions& declare_model_name(CLI::App& command, ModelOptions& options) {
  command.add_option("NETWORK", options.name, "Name of a network or number of a checkpoint")->required();
  return options;
}

void declare_model_save(CLI::App& command, Run& chosen) {
  auto& options = runs<ModelOptions>(command, chosen, [](const Invocation& invocation, const ModelOptions& given) {
    return ask_about(invocation, "model-save", given);
  });
  command.add_option("--why", declare_model_name(command, options).why, kWhyOfModel);
}

void declare_model_load(CLI::App& command, Run& chosen) {
  auto& options = runs<ModelOptions>(command, chosen, [](const Invocation& invocation, const ModelOptions& given) {
    return ask_about(invocation, "model-load", given);
  });
  command.add_option("--why", declare_model_name(command, options).why, kWhyOfModel);
}

constexpr std::array kModelCommands{
    Command{"list", "List the stored networks and the network in use", declare_model_list},
    Command{"save", "Store the current network under a name", declare_model_save},
    Command{"load", "Use another network, and continue learning from it", declare_model_load},
    Command{"record", "Write the cluster's history to a file for wattle-sim improve", declare_model_record},
    Command{"add", "Store a network from a file under a name; `load` puts it in use", declare_model_add}};
}  // namespace

void declare_model(CLI::App& command, Run& chosen) { add_commands(command, kModelCommands, chosen); }

}  // namespace wattle::cli
