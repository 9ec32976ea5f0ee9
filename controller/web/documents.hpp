// documents: the JSON that queries and /api/v1 answer with, as docs/reference/api.md says.
// Errors   malformed (argument), not_found (node, pod, document)
// Threads  the owner of the sources
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

using Arguments = std::map<std::string, std::string>;

Result<std::string> document(const Sources& from, const std::string& what, const Arguments& arguments);

// "name: ok|lost|failed: detail (mend)" taken apart; what does not read so is a detail.
struct Finding {
  std::string name, state, detail, mend;
};
Finding parse_finding(const std::string& text);

}  // namespace wattle::controller
