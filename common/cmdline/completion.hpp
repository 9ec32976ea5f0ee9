// completion: shell completion from the command line that a program declares. The script of each shell runs
// `PROGRAM --complete WORD...` for each completion, so that all shells share one implementation.
// Errors   none: a line that the program would reject has no completions
// Threads  any
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cmdline/outline.hpp"

namespace CLI {
class App;
}

namespace wattle::cmdline {

// Declares the operand SHELL of a command `completion`: bash, zsh or fish.
void declare_shell(CLI::App& command, std::string& shell);
// Returns the script for one of these names.
std::string completion_script(std::string_view shell, const std::string& program);

// Returns values that only a running system has, for a parameter with this label ("NODE") whose value begins with
// `word`. `typed`: the words after the program's name.
using KnownValues = std::function<std::vector<std::string>(const std::string& label, const std::string& word,
                                                           const std::vector<std::string>& typed)>;

// Returns the completions of the last word, which may be empty: a line "WORD<tab>DESCRIPTION" for each, or one line
// ":files" or ":folders" if the shell should complete names of files.
std::string completions(const Outline& program, const std::vector<std::string>& typed, const KnownValues& known = {});
// Returns the completions if the words after the program's name are --complete WORD...; --help does not list it.
std::optional<std::string> asked_completions(const CLI::App& app, const std::vector<std::string>& words,
                                             const KnownValues& known = {});

}  // namespace wattle::cmdline
