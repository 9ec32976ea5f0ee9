// list: commands that print a list from the controller: their common options, and how these change its document.
// Source   kLists: one row per list
// Rules    -n, --sort-by and -l change the document, so that each output format gets the same items. Sorting is
//          ascending like kubectl's, with unknown values last
// Errors   malformed, naming the option; those of the controller
// Threads  main only
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/controller.hpp"
#include "cli/json_path.hpp"
#include "cli/show.hpp"

namespace wattle::cli {

struct ListOptions {
  std::string name_space, selector, sort_by;
  bool all_namespaces = false, no_headers = false, watch = false;
};

struct List {
  std::string_view command;               // "nodes", "model list"
  const char* what;                       // name of the document, and key of its list
  const char* name_space;                 // key of an item's namespace; null: items have none
  bool labelled;                          // the document has the argument `selector`
  std::string (*name)(const View& item);  // in the form that other commands accept
  Result<std::string> (*render)(const Json& document, const Style& style);
};

std::span<const List> lists();
const List& list_of(std::string_view command);

// Adds the options that this list can have.
void declare_list(CLI::App& command, const List& list, ListOptions& options);

// Keeps the items of the namespace, the first `most` of them (0: all), in the order of `sort`.
Status narrow(Json& document, const List& list, const std::string& name_space, std::size_t most,
              const std::optional<JsonPath>& sort);
// Parses the value of --sort-by: .power_w, power_w or {.power_w}.
Result<std::optional<JsonPath>> sort_path(const std::string& text);

using Query = std::map<std::string, std::string>;
// Queries the document, narrows and prints it; with --watch again after each change.
Outcome show_list(const Invocation& invocation, const List& list, const ListOptions& options, Query query = {},
                  std::size_t most = 0);

}  // namespace wattle::cli
