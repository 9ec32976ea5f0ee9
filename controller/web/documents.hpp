// documents: the JSON that queries and /api/v1 answer with, as docs/reference/api.md says.
// Errors   malformed (argument), not_found (node, pod, document)
// Threads  the owner of the sources
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

using Arguments = std::map<std::string, std::string>;

// What the controller answers with, sorted: `what-if` and what comes from the store (is_of_store) are made elsewhere.
std::span<const std::string_view> document_names();
// Which documents and routes there are, as GET /api/v1/ tells.
std::string index_text(const std::vector<std::string>& routes);
Result<std::string> document(const Sources& from, const std::string& what, const Arguments& arguments);

// "name: ok|lost|failed: detail (mend)" taken apart; what does not read so is a detail.
struct Finding {
  std::string name, state, detail, mend;
};
Finding parse_finding(const std::string& text);

}  // namespace wattle::controller
