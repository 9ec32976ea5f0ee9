// commands: what can be typed, one file each.
// Errors   each returns an exit code, and tells what is wrong on standard error
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

// Declares a command's options to `app`; what comes back runs it once they are read.
std::function<int()> declare_http(CLI::App& app);
std::function<int()> declare_resource(CLI::App& app);

int complain(const Error& error);
int misused(const Error& error);
// To standard output, whole.
Status print(const std::string& text);
// A span of time above 0, as in 250ms; errors name `option`.
Result<Duration> parse_span(const std::string& option, const std::string& text);

}  // namespace wattle::load
