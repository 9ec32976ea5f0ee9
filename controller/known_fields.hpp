// known_fields: rejects fields of a JSON body that a request does not have, so that a mistyped one is not ignored.
// Errors   malformed: names the unknown field, the closest known one and all known ones
// Threads  pure functions
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::controller {

// Checks the fields of a JSON object in a body; `subject` names the object in the error.
Status check_fields(std::string_view subject, const SortedJson& body, std::span<const std::string_view> known);

// Error about a name of `subject` that is not among its `names`; `kind` is "field" or "argument".
tl::unexpected<Error> unknown_name(const std::string& subject, const std::string& kind, const std::string& name,
                                   const std::vector<std::string>& names);

}  // namespace wattle::controller
