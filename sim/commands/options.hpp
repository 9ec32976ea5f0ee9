// options: adds an option whose value is checked and whose default --help shows.
// Errors   parsing refuses a value that fails the check
// Threads  main thread
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

namespace wattle::sim::commands {

template <class Value, class Check>
CLI::Option* add_checked(CLI::App& app, std::string name, Value& value, std::string help, const Check& check) {
  return app.add_option(std::move(name), value, std::move(help))->check(check)->capture_default_str();
}

}  // namespace wattle::sim::commands
