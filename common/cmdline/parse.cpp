#include "common/cmdline/parse.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace wattle::cmdline {

std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, AskedPage asked) {
  if (const auto page = asked(app, {argv + 1, argv + argc})) {
    std::fputs(page->c_str(), stdout);
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace wattle::cmdline
