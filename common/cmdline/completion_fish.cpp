// fish: a function that finds the current command, and one `complete` line per possible word.
#include "common/cmdline/completion.hpp"
#include "common/cmdline/completion_places.hpp"

namespace wattle::cmdline {

namespace {
// Quotes the text as one fish word; fish interprets backslashes inside quotes.
std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish_values(const Parameter& each) {
  if (!each.choices.empty()) return " -xa " + fish_quoted(spaced(each.choices));
  if (each.is_file()) return " -rF";
  if (each.is_folder()) return " -xa '(__fish_complete_directories)'";
  return " -x";
}

std::string fish_operand(const Parameter& each) {
  if (!each.choices.empty()) return " -a " + fish_quoted(spaced(each.choices));
  if (each.is_file()) return " -F";
  if (each.is_folder()) return " -a '(__fish_complete_directories)'";
  return "";
}

std::string fish_lines(const std::string& name, const Place& place) {
  const std::string start = "complete -c " + name, here = "__" + name + "_at " + fish_quoted(place.path);
  std::string out;
  for (const Outline& each : place.at->commands)
    out += start + " -n " + fish_quoted(here + " 0") + " -a " + each.name + " -d " + fish_quoted(each.about) + "\n";
  for (const Parameter& each : place.at->options) {
    out += start + (place.path.empty() ? "" : " -n " + fish_quoted(here));
    for (const std::string& option : each.names)
      out += option.rfind("--", 0) == 0 ? " -l " + option.substr(2) : " -s " + option.substr(1);
    out += (each.most > 0 ? fish_values(each) : "") + " -d " + fish_quoted(each.text) + "\n";
  }
  for (std::size_t i = 0; i < operand_words(*place.at); ++i) {
    const Parameter& each = *operand_at(*place.at, i);
    const std::string values = fish_operand(each);
    if (values.empty()) continue;
    std::string condition = here;
    if (!each.endless) condition.append(" ").append(std::to_string(i));
    out.append(start).append(" -n ").append(fish_quoted(condition)).append(values).append("\n");
  }
  return out;
}
}  // namespace

std::string fish_completion(const Outline& program) {
  const std::string& name = program.name;
  std::string commands, valued, lines;
  for (const Place& place : places_of(program)) {
    if (!place.path.empty()) commands += " " + fish_quoted(place.path);
    for (const Parameter& each : place.at->options)
      if (each.most > 0)
        for (const std::string& option : each.names)
          valued += " " + fish_quoted((place.path.empty() ? "*" : place.path) + " " + option);
    lines += fish_lines(name, place);
  }
  return "# fish completion for " + name + ": " + name +
         " completion fish | source\n"
         "# Is the line at this command, with so many words behind it?\n"
         "function __" +
         name +
         "_at\n"
         "    set -l path ''\n"
         "    set -l count 0\n"
         "    set -l value 0\n"
         "    set -l typed (commandline -opc)\n"
         "    for word in $typed[2..-1]\n"
         "        if test $value = 1\n"
         "            set value 0\n"
         "            continue\n"
         "        end\n"
         "        switch \"$path $word\"\n"
         "            case" +
         valued +
         "\n"
         "                set value 1\n"
         "            case" +
         commands +
         "\n"
         "                set path \"$path $word\"\n"
         "                set count 0\n"
         "            case '* -*'\n"
         "            case '*'\n"
         "                set count (math $count + 1)\n"
         "        end\n"
         "    end\n"
         "    test \"$path\" = \"$argv[1]\"; and test (count $argv) -lt 2 -o $count = \"$argv[2]\"\n"
         "end\n"
         "complete -c " +
         name + " -f\n" + lines;
}

}  // namespace wattle::cmdline
