// completion: generates shell completion scripts from the command line that a program declares.
// Errors   none
// Threads  any
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "common/cmdline/outline.hpp"

namespace CLI {
class App;
}

namespace wattle::cmdline {

std::string bash_completion(const Outline& program);
std::string zsh_completion(const Outline& program);
std::string fish_completion(const Outline& program);

struct Shell {
  std::string_view name;
  std::string (*script)(const Outline& program);
};
inline constexpr std::array kShells{Shell{"bash", bash_completion}, Shell{"zsh", zsh_completion},
                                    Shell{"fish", fish_completion}};

// Declares the operand SHELL of a command `completion`: one of kShells' names.
void declare_shell(CLI::App& command, std::string& shell);
// Returns the script for one of kShells' names.
std::string completion_script(std::string_view shell, const Outline& program);

}  // namespace wattle::cmdline
