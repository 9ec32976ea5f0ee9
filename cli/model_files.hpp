// model_files: `wattle model record` and `wattle model add`: write the cluster's record to a file, and read a network
// from a file.
// Errors   network_parts: not_found, denied, out_of_range (a file that is larger than any network); the others report
//          on stderr
// Threads  main only
#pragma once

#include <map>
#include <string>

#include "cli/command.hpp"
#include "common/result.hpp"

namespace wattle::cli {

void declare_model_files(CLI::App& command, Arguments& arguments);
int run_model_record(const Invocation& invocation);
// Splits a network's file into arguments of the query model-add.
Result<std::map<std::string, std::string>> network_parts(const std::string& file);

}  // namespace wattle::cli
