#include "common/cmdline/completion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

namespace wattle::cmdline {

namespace {
struct Shell {
  std::string_view name, script;  // NAME is replaced with the program's name
};
constexpr std::array kShells{Shell{"bash", R"sh(# bash completion for NAME: source <(NAME completion bash)
_NAME() {
  local line=${COMP_LINE:0:COMP_POINT} typed=() offered=() word=''
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] || { word=${typed[-1]}; unset 'typed[-1]'; }
  mapfile -t offered < <(NAME --complete "${typed[@]:1}" "$word" 2>/dev/null)
  case ${offered[0]-} in
    :files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "${word#--*=}") ;;
    :folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "${word#--*=}") ;;
    *)
      COMPREPLY=("${offered[@]%%$'\t'*}")
      [[ $word != --*=* ]] || COMPREPLY=("${COMPREPLY[@]#--*=}")
      ;;
  esac
}
complete -F _NAME NAME
)sh"},
                             Shell{"zsh", R"sh(#compdef NAME
# zsh completion for NAME: source <(NAME completion zsh)
_NAME() {
  local -a offered=("${(@f)$(NAME --complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  case $offered[1] in
    '') return 1 ;;
    :files) compset -P '--*='; _files ;;
    :folders) compset -P '--*='; _files -/ ;;
    *)
      local -a names=("${(@)offered%%$'\t'*}") lines=("${(@)offered/$'\t'/  -- }")
      compadd -l -d lines -a names
      ;;
  esac
}
if [[ ${funcstack[1]} == _NAME ]]; then
  _NAME "$@"
else
  compdef _NAME NAME
fi
)sh"},
                             Shell{"fish", R"sh(# fish completion for NAME: NAME completion fish | source
function __NAME_offers
    set -l current "$(commandline -ct)"
    set -l typed (commandline -opc) $current
    set -l offered (NAME --complete $typed[2..-1] 2>/dev/null)
    switch "$offered[1]"
        case :files
            set -l option (string match -r '^--[^=]*=' -- $current)
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- $current) | string replace -r '^' "$option"
        case :folders
            __fish_complete_directories $current ''
        case '*'
            string join \n -- $offered
    end
end
complete -c NAME -f -a '(__NAME_offers)'
)sh"}};

const Parameter* option_of(const Outline& at, const std::string& name) {
  const auto found = std::ranges::find_if(at.options, [&](const Parameter& each) {
    return each.most > 0 && std::ranges::find(each.names, name) != each.names.end();
  });
  return found == at.options.end() ? nullptr : &*found;
}

// Returns the operand for the nth word (from 0) after the command; null if there is none.
const Parameter* operand_at(const Outline& command, std::size_t nth) {
  for (const Parameter& each : command.operands) {
    if (each.endless || nth < each.most) return &each;
    nth -= each.most;
  }
  return nullptr;
}

// The completions of one word.
class Offers {
 public:
  explicit Offers(std::string word) : word_(std::move(word)) {}
  void add(const std::string& name, const std::string& about) {
    if (!name.starts_with(word_) || text_.find("\n" + name + "\t") != std::string::npos) return;
    text_ += "\n" + name + "\t" + about.substr(0, about.find('\n'));
  }
  void add_options(const Outline& at) {
    for (const Parameter& each : at.options)
      for (const std::string& name : each.names) add(name, each.text);
  }
  // `before`: "--option=" if the value is in the same word.
  void add_values(const Parameter& of, const std::string& before, const std::vector<std::string>& typed,
                  const KnownValues& known) {
    if (of.is_file() || of.is_folder()) text_ = of.is_file() ? "\n:files" : "\n:folders";
    for (const std::string& choice : of.choices) add(before + choice, "");
    if (!known || !of.choices.empty() || !text_.empty()) return;
    for (const std::string& value : known(of.label, word_.substr(before.size()), typed)) add(before + value, "");
  }
  std::string lines() const { return text_.empty() ? "" : text_.substr(1) + "\n"; }

 private:
  std::string word_, text_;  // each line begins with its newline
};
}  // namespace

void declare_shell(CLI::App& command, std::string& shell) {
  std::vector<std::string> names;
  for (const Shell& each : kShells) names.emplace_back(each.name);
  command.add_option("SHELL", shell, "Shell: bash, zsh or fish")->required()->check(CLI::IsMember(names));
}

std::string completion_script(std::string_view shell, const std::string& program) {
  constexpr std::string_view kName = "NAME";
  const auto found = std::ranges::find(kShells, shell, &Shell::name);
  std::string out(found == kShells.end() ? std::string_view() : found->script);
  for (auto at = out.find(kName); at != std::string::npos; at = out.find(kName, at + program.size()))
    out.replace(at, kName.size(), program);
  return out;
}

std::string completions(const Outline& program, const std::vector<std::string>& typed, const KnownValues& known) {
  if (typed.empty()) return "";
  const Outline* at = &program;
  // A command may have an option of the same name as the program.
  const auto valued = [&](const std::string& name) {
    const Parameter* own = option_of(*at, name);
    return own != nullptr ? own : option_of(program, name);
  };
  const Parameter* value_of = nullptr;
  std::size_t operands = 0;
  for (std::size_t i = 0; i + 1 < typed.size(); ++i) {
    const std::string& word = typed[i];
    if (value_of != nullptr) {
      value_of = nullptr;
      continue;
    }
    if (word.starts_with('-')) {
      value_of = valued(word);
      continue;
    }
    const auto command = std::ranges::find(at->commands, word, &Outline::name);
    if (command == at->commands.end()) {
      ++operands;
    } else {
      at = &*command;
      operands = 0;
    }
  }
  const std::string& word = typed.back();
  std::string before;
  if (const auto equals = word.find('='); value_of == nullptr && word.starts_with("--") && equals != word.npos) {
    before = word.substr(0, equals + 1);
    value_of = valued(word.substr(0, equals));
  }
  Offers offers(word);
  if (value_of != nullptr) {
    offers.add_values(*value_of, before, typed, known);
  } else if (word.starts_with('-')) {
    offers.add_options(*at);
    offers.add_options(program);
  } else if (!at->commands.empty()) {
    for (const Outline& each : at->commands) offers.add(each.name, each.about);
  } else if (const Parameter* operand = operand_at(*at, operands)) {
    offers.add_values(*operand, "", typed, known);
  }
  return offers.lines();
}

std::optional<std::string> asked_completions(const CLI::App& app, const std::vector<std::string>& words,
                                             const KnownValues& known) {
  if (words.empty() || words[0] != "--complete") return std::nullopt;
  return completions(outline_of(app), {words.begin() + 1, words.end()}, known);
}

}  // namespace wattle::cmdline
