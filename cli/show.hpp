// show: what every reading command does: ask, then print as the user wants it.
// Errors   2 keys, configuration and arguments, 1 the controller; written to stderr
// Threads  main only
#pragma once

#include <functional>
#include <map>
#include <string>

#include "cli/commands.hpp"
#include "cli/controller.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

Style style_of(const Invocation& invocation);

// Opens the controller and lets `work` ask it. Its errors become exit code 1; an argument that the controller refuses, 2.
int with_controller(const Invocation& invocation, const std::function<Result<int>(Controller&)>& work);

using Render = std::function<Result<std::string>(const Json& document, const Style& style)>;

// Prints the document in the output that is wanted; `render` makes table and wide.
Status print(const Invocation& invocation, const Json& document, const Render& render);

// The usual command: one question, one document.
int show(const Invocation& invocation, const std::string& what, const std::map<std::string, std::string>& arguments,
         const Render& render);

}  // namespace wattle::cli
