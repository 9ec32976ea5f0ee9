#include "common/cmdline/outline.hpp"

#include <CLI/CLI.hpp>

namespace wattle::cmdline {

namespace {
// More values than a user types; CLI11 represents "any number" as a large number.
constexpr int kEndless = 1000;

// "{a,b}"
std::vector<std::string> members(const std::string& set) {
  std::vector<std::string> out;
  for (std::size_t at = 1; at < set.size();) {
    const std::size_t end = std::min(set.find(',', at), set.size() - 1);
    out.push_back(set.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Parameter parameter_of(const CLI::Option& option) {
  Parameter out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.text = option.get_description();
  out.standard = option.get_default_str();
  out.required = option.get_required();
  const int most = option.get_items_expected_max();
  out.endless = most >= kEndless && out.names.empty();
  out.most = static_cast<std::size_t>(std::clamp(most, 0, kEndless));
  // "TEXT" and its check: ":{a,b}", ":INT in [1 - 5]".
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  if (colon != std::string::npos) {
    const std::string check = type.substr(colon + 1);
    if (check.size() > 2 && check.front() == '{' && check.back() == '}')
      out.choices = members(check);
    else
      out.range = check;
  }
  if (most > 0) out.type = type.substr(0, colon);
  out.label = out.names.empty() ? option.get_name(true) : out.type;
  return out;
}
}  // namespace

Outline outline_of(const CLI::App& app) {
  Outline out{app.get_name(), app.get_description(), app.get_footer(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    Parameter parameter = parameter_of(*option);
    (parameter.names.empty() ? out.operands : out.options).push_back(std::move(parameter));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
    out.commands.push_back(outline_of(*command));
  return out;
}

}  // namespace wattle::cmdline
