// base64: text of RFC 4648, section 4, as Kubernetes writes the values of Secrets and what kubeconfigs hold.
// Errors   absent: a character that does not belong, or a length that cannot be
// Threads  pure
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wattle {

// With its padding, and without line breaks.
std::optional<std::string> base64_decode(std::string_view text);
std::string base64_encode(std::string_view bytes);

}  // namespace wattle
