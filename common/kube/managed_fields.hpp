// managed_fields: shortens an API server's JSON before it is parsed: the values of "fieldsV1", which list every field
// that a manager has set, are a third to a half of an object, and no reader uses them.
// Gives    the text with null in place of each such object; unchanged if an object does not end. Text outside these
//          objects is copied, so that the parser still checks it
// Errors   none
// Threads  pure
#pragma once

#include <string>
#include <string_view>

namespace wattle::kube {

std::string without_fields(std::string_view text);

}  // namespace wattle::kube
