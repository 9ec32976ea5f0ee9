#include "common/cmdline/parse.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "common/cmdline/completion.hpp"
#include "common/cmdline/usage.hpp"
#include "common/error_line.hpp"

namespace wattle::cmdline {

std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, AskedPage asked) {
  const auto flushed = [&](int code) {
    if (std::cout.flush() && std::fflush(stdout) == 0) return code;
    std::fprintf(stderr, "%s\n",
                 error_line(app.get_name().substr(0, app.get_name().find(' ')), "",
                            {Errc::io, "stdout", "cannot be written", ""})
                     .c_str());
    return 1;
  };
  const std::vector<std::string> words(argv + 1, argv + argc);
  auto page = asked(app, words);
  if (!page) page = asked_completions(app, words);
  if (page) {
    std::fputs(page->c_str(), stdout);
    return flushed(0);
  }
  const auto refuse = [&app](const Error& wrong) {
    // A command with its own parser has a name such as "wattle-sim train".
    const std::string called = app.get_name();
    const auto blank = called.find(' ');
    const std::string command = blank == std::string::npos ? typed_command(app) : called.substr(blank + 1);
    std::fprintf(stderr, "%s\n", error_line(called.substr(0, blank), command, wrong).c_str());
    return kMisused;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (is_misuse(app, error)) return refuse(usage_error(app, error, app.get_name()));
    if (dynamic_cast<const CLI::CallForHelp*>(&error) == nullptr) return flushed(app.exit(error));
    std::fputs(fitted(app.help()).c_str(), stdout);
    return flushed(0);
  }
  if (const auto wrong = not_finite(app)) return refuse(*wrong);
  return std::nullopt;
}

}  // namespace wattle::cmdline
