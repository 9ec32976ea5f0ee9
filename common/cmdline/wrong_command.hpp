// wrong_command: reports an unknown or missing command of a program, with the closest known one.
// Source   a CLI::App whose parse() has thrown; closest() by optimal string alignment (Damerau 1964)
// Errors   none
// Threads  any
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace wattle::cmdline {

// Returns the known word that is at most a third of its letters away from `word`; none if there is no such word.
std::optional<std::string> closest(std::string_view word, std::span<const std::string> known);

// Returns the error of an unknown command: the word, the closest command, and all commands.
std::string unknown_command(const std::string& path, std::string_view word, std::span<const std::string> commands);

// Returns the error if `thrown` by parse() hides a wrong command: CLI11 names neither the word nor the commands if a
// command is missing, and prints help for "wattle nosuch --help".
std::optional<std::string> wrong_command(const CLI::App& app, const CLI::ParseError& thrown);

}  // namespace wattle::cmdline
