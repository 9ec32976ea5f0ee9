// bash: tables of the words that may follow, and a function that looks them up. Does not use COMP_WORDS, because bash
// breaks words at ':' and '='.
#include "common/cmdline/completion.hpp"
#include "common/cmdline/completion_places.hpp"

namespace wattle::cmdline {

namespace {
std::string bash_values(const Parameter& each) {
  if (!each.choices.empty()) return "words=" + quoted(spaced(each.choices));
  if (each.is_file()) return "kind=-f";
  if (each.is_folder()) return "kind=-d";
  return ":";
}

// Names of the options; only of those that take a value if `with_value`.
std::string bash_names(const std::vector<Parameter>& options, bool with_value) {
  std::vector<std::string> names;
  for (const Parameter& each : options)
    if (!with_value || each.most > 0) names.insert(names.end(), each.names.begin(), each.names.end());
  return spaced(names);
}

// Case lines for "PATH OPTION" and "PATH #NTH" that list the possible values.
std::string bash_value_lines(const Place& place) {
  std::string out;
  const std::string everywhere = place.path.empty() ? "*" : "";
  for (const Parameter& each : place.at->options)
    if (each.most > 0)
      for (const std::string& name : each.names)
        out += "    " + everywhere + quoted(place.path + " " + name) + ") " + bash_values(each) + " ;;\n";
  for (std::size_t i = 0; i < operand_words(*place.at); ++i) {
    const Parameter& each = *operand_at(*place.at, i);
    const std::string nth =
        each.endless ? quoted(place.path + " #") + "*" : quoted(place.path + " #" + std::to_string(i));
    out += "    " + nth + ") " + bash_values(each) + " ;;\n";
  }
  return out;
}
}  // namespace

std::string bash_completion(const Outline& program) {
  const std::string& name = program.name;
  std::string places, values, globals;
  const std::vector<Place> all = places_of(program);
  for (const Place& place : all) {
    std::vector<std::string> commands;
    for (const Outline& each : place.at->commands) commands.push_back(each.name);
    places += "    " + quoted(place.path) + ") commands=" + quoted(spaced(commands)) +
              " options=" + quoted(bash_names(place.at->options, false)) +
              " valued=" + quoted(bash_names(place.at->options, true)) + " ;;\n";
    // Global options come last: a command may have an option of the same name.
    if (place.path.empty()) globals = bash_value_lines(place);
    if (!place.path.empty()) values += bash_value_lines(place);
  }
  return "# bash completion for " + name + ": source <(" + name + " completion bash)\n_" + name +
         "_place() {\n  case $1 in\n" + places + "    *) commands='' options='' valued='' ;;\n  esac\n}\n_" + name +
         "_values() {\n  case $1 in\n" + values + globals + "  esac\n}\n_" + name +
         "() {\n"
         "  local line=${COMP_LINE:0:COMP_POINT} typed=() word='' path='' before='' count=0 each\n"
         "  local commands='' options='' valued='' words='' kind=''\n"
         "  read -ra typed <<<\"$line\"\n"
         "  [[ $line == *[[:space:]] ]] || { word=${typed[-1]}; unset 'typed[-1]'; }\n"
         "  _" +
         name + "_place ''\n  local everywhere=$options everywhere_valued=$valued\n" +
         "  for each in \"${typed[@]:1}\"; do\n"
         "    if [[ -n $before ]]; then\n"
         "      before=''\n"
         "    elif [[ \" $valued $everywhere_valued \" == *\" $each \"* ]]; then\n"
         "      before=$each\n"
         "    elif [[ $each == -* ]]; then\n"
         "      :\n"
         "    elif [[ \" $commands \" == *\" $each \"* ]]; then\n"
         "      path+=\" $each\" count=0\n"
         "      _" +
         name +
         "_place \"$path\"\n"
         "    else\n"
         "      count=$((count + 1))\n"
         "    fi\n"
         "  done\n"
         "  if [[ -z $before && $word == --*=* ]]; then\n"
         "    before=${word%%=*} word=${word#*=}\n"
         "  fi\n"
         "  if [[ -n $before ]]; then\n"
         "    _" +
         name +
         "_values \"$path $before\"\n"
         "  elif [[ $word == -* ]]; then\n"
         "    words=\"$options $everywhere\"\n"
         "  elif [[ -n $commands ]]; then\n"
         "    words=$commands\n"
         "  else\n"
         "    _" +
         name +
         "_values \"$path #$count\"\n"
         "  fi\n"
         "  COMPREPLY=()\n"
         "  if [[ -n $kind ]]; then\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    while IFS= read -r each; do COMPREPLY+=(\"$each\"); done < <(compgen \"$kind\" -- \"$word\")\n"
         "  elif [[ -n $words ]]; then\n"
         "    while IFS= read -r each; do COMPREPLY+=(\"$each\"); done < <(compgen -W \"$words\" -- \"$word\" | sort "
         "-u)\n"
         "  fi\n"
         "}\n"
         "complete -F _" +
         name + " " + name + "\n";
}

}  // namespace wattle::cmdline
