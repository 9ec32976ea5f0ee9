// usage: turns CLI11's errors into the error of every program: what is wrong, and how to fix it.
// Source   the CLI::App after its parse() threw
// Errors   none
// Threads  main thread
#pragma once

#include <optional>
#include <string>

#include "common/result.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace wattle::cmdline {

// Returns the command that was typed, without the program: "keys new"; empty for a program without commands.
std::string typed_command(const CLI::App& app);

// Breaks the lines of a program's help at this width; descriptions continue at their own column.
std::string fitted(const std::string& help, std::size_t width = 100);

// Returns false if parse() threw to print help or a version. Asking for help on a command that does not exist is a
// misuse.
bool is_misuse(const CLI::App& app, const CLI::ParseError& error);

// Returns the help of a group of commands that was typed without a command; no value for any other usage.
std::optional<std::string> help_of_group(const CLI::App& app, const CLI::ParseError& error, const std::string& program);

// Returns the error of a number option that was given as NaN or infinite, which ranges of CLI11 do not refuse.
std::optional<Error> not_finite(const CLI::App& app);

// Describes wrong usage: an unknown command or option with the closest name, a missing or wrong value with the allowed
// ones. `program` is the name that the user types, for the reference to --help.
Error usage_error(const CLI::App& app, const CLI::ParseError& error, const std::string& program);

}  // namespace wattle::cmdline
