// model_files: `wattle model record` and `wattle model add`, which write a file and read one.
// Errors   network_parts: not_found, denied, out_of_range (a file that is larger than any network); the others tell on stderr
// Threads  main only
#pragma once

#include <map>
#include <string>

#include "cli/command.hpp"
#include "common/result.hpp"

namespace wattle::cli {

void declare_model_files(CLI::App& command, Arguments& arguments);
int run_model_record(const Invocation& invocation);
// A network's file, as arguments of the query model-add.
Result<std::map<std::string, std::string>> network_parts(const std::string& file);

}  // namespace wattle::cli
