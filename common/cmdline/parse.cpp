#include "common/cmdline/parse.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/cmdline/wrong_command.hpp"
#include "common/printable.hpp"

namespace wattle::cmdline {

std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, AskedPage asked) {
  if (const auto page = asked(app, {argv + 1, argv + argc})) {
    std::fputs(page->c_str(), stdout);
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (const auto wrong = wrong_command(app, error)) {
      std::fprintf(stderr, "%s\n", printable_lines(*wrong).c_str());
      return kMisused;
    }
    return app.exit(error) == 0 ? 0 : kMisused;
  }
  return std::nullopt;
}

}  // namespace wattle::cmdline
