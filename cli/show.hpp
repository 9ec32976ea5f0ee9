// show: the common part of commands that read: queries the controller and prints the answer in the chosen format.
// Errors   exit code 2 for keys, configuration and arguments, 1 for the controller
// Threads  main only
#pragma once

#include <functional>
#include <map>
#include <string>

#include "cli/commands.hpp"
#include "cli/controller.hpp"

namespace wattle::cli {

// Describes a name that does not exist: `node "a" not found: why (fix)`.
Error unknown_name(const std::string& kind, const std::string& name, std::string why, std::string fix);

Style style_of(const Invocation& invocation);

// Opens the controller and calls `work` with it. Its errors give exit code 1; an argument that the controller refuses
// gives 2.
Outcome with_controller(const Invocation& invocation, const std::function<Result<int>(Controller&)>& work);

using Render = std::function<Result<std::string>(const Json& document, const Style& style)>;

// Prints the document in the chosen format; `render` makes table and wide.
Status print(const Invocation& invocation, const Json& document, const Render& render);

// Runs a command that makes one query and prints one document.
Outcome show(const Invocation& invocation, const std::string& what, const std::map<std::string, std::string>& arguments,
             const Render& render);

}  // namespace wattle::cli
