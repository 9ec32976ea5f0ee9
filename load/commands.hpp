// commands: the commands of wattle-load, one file each.
// Errors   each returns an exit code and prints errors on stderr
// Threads  main thread
#pragma once

#include <functional>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace CLI {
class App;
}

namespace wattle::load {

inline constexpr int kOk = 0, kProblem = 1, kUsage = 2;

// Declares a command's options on `app`; returns the function that runs it after parsing.
std::function<int()> declare_http(CLI::App& app);
std::function<int()> declare_resource(CLI::App& app);

int complain(const Error& error);
int misused(const Error& error);
// Writes the whole text to stdout.
Status print(const std::string& text);
// Parses a positive duration, as in 250ms; errors name `option`.
Result<Duration> parse_span(const std::string& option, const std::string& text);

}  // namespace wattle::load
