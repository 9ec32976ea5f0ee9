// zsh: one function per command, based on _arguments.
#include <algorithm>

#include "common/cmdline/completion.hpp"
#include "common/cmdline/completion_places.hpp"

namespace wattle::cmdline {

namespace {
// Escapes ':' and brackets for _arguments and _describe.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_values(const Parameter& each) {
  std::string out = ":" + zsh_text(each.label) + ":";
  if (!each.choices.empty()) return out + "(" + spaced(each.choices) + ")";
  if (each.is_file()) return out + "_files";
  if (each.is_folder()) return out + "_files -/";
  return out + " ";
}

// "(-o --output)-o+[what]:TEXT:(a b)": accepts the option once, with its value in the same word or the next.
std::string zsh_option(const Parameter& each, const std::string& name) {
  const bool is_long = name.rfind("--", 0) == 0, valued = each.most > 0;
  return quoted("(" + spaced(each.names) + ")" + name +
                (!valued   ? ""
                 : is_long ? "="
                           : "+") +
                "[" + zsh_text(each.text) + "]" + (valued ? zsh_values(each) : ""));
}

std::string zsh_function(const std::string& function, const Outline& at, const std::vector<Parameter>& everywhere) {
  std::string out = function + "() {\n  local context state state_descr line ret=1\n  typeset -A opt_args\n";
  out += "  _arguments -C";
  const auto add = [&out](const std::string& spec) { out += " \\\n    " + spec; };
  std::vector<Parameter> options = at.options;
  for (const Parameter& each : everywhere) {
    const auto same = [&each](const Parameter& own) { return own.names.back() == each.names.back(); };
    if (std::none_of(at.options.begin(), at.options.end(), same)) options.push_back(each);
  }
  for (const Parameter& each : options)
    for (const std::string& name : each.names) add(zsh_option(each, name));
  for (std::size_t i = 0; i < operand_words(at); ++i) {
    const Parameter& each = *operand_at(at, i);
    add(quoted((each.endless ? "*" : std::to_string(i + 1) + (each.required ? "" : ":")) + zsh_values(each)));
  }
  if (!at.commands.empty()) add("'1: :->command' '*:: :->behind'");
  out += " && ret=0\n";
  if (!at.commands.empty()) {
    out += "  case $state in\n    command)\n      local -a commands=(\n";
    for (const Outline& each : at.commands) out += "        " + quoted(each.name + ":" + zsh_text(each.about)) + "\n";
    out +=
        "      )\n      _describe -t commands command commands && ret=0\n      ;;\n    behind)\n      case $words[1] "
        "in\n";
    for (const Outline& each : at.commands)
      out += "        " + each.name + ") " + function + "_" + each.name + " && ret=0 ;;\n";
    out += "      esac\n      ;;\n  esac\n";
  }
  return out + "  return ret\n}\n";
}
}  // namespace

std::string zsh_completion(const Outline& program) {
  const std::string name = "_" + program.name;
  std::string out = "#compdef " + program.name + "\n# zsh completion for " + program.name + ": source <(" +
                    program.name + " completion zsh)\n";
  for (const Place& place : places_of(program)) {
    std::string function = name + place.path;
    for (char& c : function)
      if (c == ' ') c = '_';
    out += zsh_function(function, *place.at, place.path.empty() ? std::vector<Parameter>() : program.options);
  }
  // Run from $fpath, the function completes; sourced, the script registers it.
  return out + "if [[ ${funcstack[1]} == " + name + " ]]; then\n  " + name + " \"$@\"\nelse\n  compdef " + name + " " +
         program.name + "\nfi\n";
}

}  // namespace wattle::cmdline
