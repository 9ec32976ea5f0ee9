#include "common/cmdline/usage.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "common/cmdline/outline.hpp"
#include "common/nearest.hpp"

namespace wattle::cmdline {

namespace {
const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

// Options of a command and of those above it: a command line may mix them.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
    for (const Parameter& each : outline_of(*at).options)
      for (const std::string& name : each.names)
        if (name.starts_with("--")) names.push_back(name);
  return names;
}

const CLI::Option* option_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
    if (const CLI::Option* found = at->get_option_no_throw(name)) return found;
  return nullptr;
}

std::string in_quotes(const std::string& word) { return '"' + word + '"'; }

Error wrong(std::string subject, std::string what, std::string fix) {
  return {Errc::malformed, std::move(subject), std::move(what), std::move(fix)};
}

// A command that is missing or unknown.
Error command_error(const CLI::App& at, const std::vector<std::string>& rest) {
  std::vector<std::string> names;
  for (const Outline& each : outline_of(at).commands) names.push_back(each.name);
  const auto word = std::find_if(rest.begin(), rest.end(), [](const auto& one) { return !one.starts_with('-'); });
  constexpr std::size_t kMostNamed = 12;
  const std::string all =
      names.size() > kMostNamed ? "see " + at.get_name() + " --help" : "commands: " + comma_list(names);
  if (word == rest.end()) return wrong("a command is missing", "", all);
  return wrong("unknown command " + in_quotes(*word), "", did_you_mean(*word, names, all));
}

// "xml not in {table,json}", "Value 0 not in range 1 to 9", "Value x could not be converted": all after the option.
Error value_error(const std::string& option, const std::string& text, const std::string& help) {
  if (const auto at = text.find(" not in {"); at != std::string::npos && text.ends_with('}')) {
    const std::string value = text.substr(0, at);
    const auto open = at + std::string_view(" not in {").size();
    std::vector<std::string> choices;
    for (std::size_t from = open; from < text.size();) {
      const auto end = std::min(text.find(',', from), text.size() - 1);
      choices.push_back(text.substr(from, end - from));
      from = end + 1;
    }
    return wrong(option, "unknown value " + in_quotes(value),
                 did_you_mean(value, choices, "use one of " + comma_list(choices)));
  }
  constexpr std::string_view kValue = "Value ", kRange = " not in range ";
  if (const auto at = text.find(kRange); text.starts_with(kValue) && at != std::string::npos) {
    std::string range = text.substr(at + kRange.size());
    return wrong(option, text.substr(kValue.size(), at - kValue.size()) + " is out of range", "use " + range);
  }
  return wrong(option, text, help);
}

std::string kind_of(const CLI::Option* option) {
  const std::string type = option == nullptr ? std::string() : option->get_type_name();
  if (type.starts_with("INT") || type.starts_with("UINT")) return "a whole number";
  if (type.starts_with("FLOAT")) return "a number";
  return "a valid value";
}

// "Could not convert: --limit = x"
Error conversion_error(const CLI::App& at, const std::string& text, const std::string& help) {
  constexpr std::string_view kOpening = "Could not convert: ";
  const auto equals = text.find(" = ");
  if (!text.starts_with(kOpening) || equals == std::string::npos) return wrong(text, "", help);
  const std::string option = text.substr(kOpening.size(), equals - kOpening.size());
  const std::string name = option.substr(0, option.find(','));
  return wrong(option, in_quotes(text.substr(equals + 3)) + " is not " + kind_of(option_named(at, name)), help);
}

template <class Kind>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (const auto at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}
}  // namespace

std::string typed_command(const CLI::App& app) {
  std::string path;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += (path.empty() ? "" : " ") + at->get_name();
  }
  return path;
}

std::string fitted(const std::string& help, std::size_t width) {
  constexpr std::size_t kDescription = 30;  // the column at which CLI11 begins descriptions
  std::string out;
  for (std::size_t from = 0; from < help.size();) {
    const std::size_t end = std::min(help.find('\n', from), help.size());
    std::string line = help.substr(from, end - from);
    from = end + 1;
    const std::size_t indent = line.starts_with("  ") ? kDescription : 0;
    while (line.size() > width) {
      const std::size_t at = line.rfind(' ', width);
      if (at == std::string::npos || at <= indent) break;
      out += line.substr(0, at) + "\n";
      line = std::string(indent, ' ') + line.substr(at + 1);
    }
    out += line + "\n";
  }
  return out;
}

bool is_misuse(const CLI::App& app, const CLI::ParseError& error) {
  if (!is<CLI::Success>(error)) return true;
  if (!is<CLI::CallForHelp>(error) || deepest(app).get_require_subcommand_min() == 0) return false;
  const auto rest = app.remaining(true);
  return std::any_of(rest.begin(), rest.end(), [](const auto& word) { return !word.starts_with('-'); });
}

std::optional<Error> not_finite(const CLI::App& app) {
  const CLI::App* at = &app;
  for (;;) {
    for (const CLI::Option* option : at->get_options()) {
      if (option->count() == 0 || option->get_type_name().find("FLOAT") == std::string::npos) continue;
      for (const std::string& text : option->results())
        if (char* end = nullptr; !std::isfinite(std::strtod(text.c_str(), &end)) && *end == '\0')
          return Error{Errc::malformed, option->get_name(), in_quotes(text) + " is not a number",
                       "use a finite number"};
    }
    if (at->get_subcommands().empty()) return std::nullopt;
    at = at->get_subcommands().front();
  }
}

std::optional<std::string> help_of_group(const CLI::App& app, const CLI::ParseError& error,
                                         const std::string& program) {
  const CLI::App& at = deepest(app);
  if (!is<CLI::RequiredError>(error) || at.get_require_subcommand_min() == 0 || !app.remaining(true).empty())
    return std::nullopt;
  const std::string path = typed_command(app);
  return at.get_formatter()->make_help(&at, program + (path.empty() ? "" : " " + path), CLI::AppFormatMode::Normal);
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error, const std::string& program) {
  const CLI::App& at = deepest(app);
  const std::string path = typed_command(app);
  const std::string help = "see " + program + (path.empty() ? "" : " " + path) + " --help";
  const std::string text = error.what();
  // The name of an ExtrasError is that of its command, so the types are compared.
  const bool required = is<CLI::RequiredError>(error), extra = is<CLI::ExtrasError>(error);
  const auto rest = app.remaining(true);
  const bool needs_command = at.get_require_subcommand_min() > 0;
  if (is<CLI::Success>(error)) return command_error(at, rest);
  // A mistyped option is also the reason why something else is missing.
  const auto option = std::find_if(rest.begin(), rest.end(), [](const auto& one) { return one.starts_with("-"); });
  if (option != rest.end() && *option != "--" && (extra || required)) {
    const std::string name = option->substr(0, option->find('='));
    return wrong("unknown option " + in_quotes(name), "", did_you_mean(name, option_names(at), help));
  }
  if (required) return needs_command ? command_error(at, rest) : wrong(text, "", help);
  if (extra) {
    if (needs_command) return command_error(at, rest);
    return wrong("unexpected argument " + in_quotes(rest.empty() ? "" : rest.front()), "", help);
  }
  if (is<CLI::ConversionError>(error)) return conversion_error(at, text, help);
  if (is<CLI::ExcludesError>(error)) return wrong(replaced(text, " excludes ", " cannot be combined with "), "", help);
  const auto colon = text.find(": ");
  if (colon == std::string::npos) return wrong(text, "", help);
  const std::string name = text.substr(0, colon), why = text.substr(colon + 2);
  if (is<CLI::ValidationError>(error)) return value_error(name, why, help);
  if (is<CLI::ArgumentMismatch>(error) && why.ends_with(" missing")) return wrong(name, "the value is missing", help);
  return wrong(name, why, help);
}

}  // namespace wattle::cmdline
