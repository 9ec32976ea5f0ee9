// documents: builds the JSON answers of queries and /api/v1 as described in docs/reference/api.md.
// Errors   malformed (argument), not_found (node, pod, document)
// Threads  the owner of the parts
#pragma once

#include <string>
#include <vector>

#include "common/result.hpp"
#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

// Lists documents and routes for GET /api/v1/.
std::string index_text(const std::vector<std::string>& routes);
Document document(const Parts& from, const std::string& what, const Arguments& arguments);

// A finding, parsed from "name: ok|lost|failed: detail (fix)". Text in another form becomes the detail.
struct Finding {
  std::string name, state, detail, fix;
};
Finding parse_finding(const std::string& text);

}  // namespace wattle::controller
