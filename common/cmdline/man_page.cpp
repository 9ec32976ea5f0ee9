#include "common/cmdline/man_page.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/version.hpp"

namespace wattle::cmdline {

namespace {
// Escapes text for roff: escapes, requests and hyphens that roff would print as dashes.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((i == 0 || text[i - 1] == '\n') && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\(rs";
    else if (c == '-')
      out += "\\-";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
    // Allows a line break inside a list without blanks.
    if ((c == ',' || c == '|') && i + 1 < text.size() && text[i + 1] != ' ') out += "\\:";
  }
  return out;
}
std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string slanted(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string joined_by(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(between)) + word;
  return out;
}

std::string value_of(const Parameter& each) {
  return each.choices.empty() ? slanted(each.label) : slanted(joined_by(each.choices, "|"));
}

std::string operand_in_synopsis(const Parameter& each) {
  const std::string value = slanted(each.label) + (each.endless ? " ..." : "");
  return each.required ? value : "[" + value + "]";
}

std::string synopsis(const Outline& at, const std::string& full_name) {
  std::string out = bold(full_name);
  if (!at.options.empty()) out += " [" + slanted("OPTIONS") + "]";
  for (const Parameter& each : at.operands) out += " " + operand_in_synopsis(each);
  if (!at.commands.empty()) out += " " + slanted("COMMAND");
  return out;
}

std::string paragraph(const Parameter& each) {
  std::string out = ".TP\n";
  if (each.names.empty()) {
    out += value_of(each);
    if (!each.choices.empty()) out = ".TP\n" + slanted(each.label) + ": " + value_of(each);
  } else {
    std::vector<std::string> names;
    for (const std::string& name : each.names) names.push_back(bold(name));
    out += joined_by(names, ", ") + (each.label.empty() ? "" : " " + value_of(each));
  }
  std::vector<std::string> notes;
  if (each.required && !each.names.empty()) notes.emplace_back("required");
  if (!each.range.empty()) notes.push_back(each.range);
  if (!each.standard.empty()) notes.push_back("default: " + each.standard);
  return out + "\n" + roff(each.text) + (notes.empty() ? "" : roff(" (" + joined_by(notes, "; ") + ")")) + "\n";
}

std::string paragraphs(const std::vector<Parameter>& parameters) {
  std::string out;
  for (const Parameter& each : parameters) out += paragraph(each);
  return out;
}

bool is_help(const Parameter& each) {
  return std::find(each.names.begin(), each.names.end(), "--help") != each.names.end();
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}
}  // namespace

std::string man_head(const Outline& program, std::string_view section, std::string_view version) {
  std::string out = ".\\\" Made by " + program.name + " --man-page.\n";
  out += ".TH " + roff(upper(program.name)) + " " + std::string(section) + " \"\" \"Wattle " + std::string(version) +
         "\" \"Wattle\"\n.nh\n.ad l\n";
  out += ".SH NAME\n" + roff(program.name) + " \\- " + roff(program.about) + "\n";
  out += ".SH SYNOPSIS\n" + synopsis(program, program.name) + "\n";
  if (const std::string operands = paragraphs(program.operands); !operands.empty()) out += ".SH OPERANDS\n" + operands;
  out += ".SH OPTIONS\n" + paragraphs(program.options);
  if (!program.commands.empty()) out += ".SH COMMANDS\n";
  return out;
}

std::string man_command(const Outline& command, const std::string& full_name) {
  std::string out = ".SS " + synopsis(command, full_name) + "\n" + roff(command.about) + ".\n";
  out += paragraphs(command.operands);
  for (const Parameter& each : command.options)
    if (!is_help(each)) out += paragraph(each);  // shown once: every command has the same --help
  for (const Outline& each : command.commands) out += man_command(each, full_name + " " + each.name);
  return out;
}

std::string man_tail(const Outline& program) {
  std::string out;
  if (!program.footer.empty()) out += ".SH NOTES\n" + roff(program.footer) + "\n";
  return out + ".SH SEE ALSO\nThe documentation in " + slanted("/usr/share/doc/wattle") + ", of package wattle.\n";
}

std::string man_page(const Outline& program, std::string_view section, std::string_view version) {
  std::string out = man_head(program, section, version);
  for (const Outline& each : program.commands) out += man_command(each, program.name + " " + each.name);
  return out + man_tail(program);
}

std::optional<std::string> asked_man_page(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() != 2 || words[0] != "--man-page") return std::nullopt;
  return man_page(outline_of(app), words[1], kVersion);
}

std::optional<std::string> asked_man_part(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.back() != "--man-part") return std::nullopt;
  return man_command(outline_of(app), app.get_name());
}

}  // namespace wattle::cmdline
