// base64: encodes and decodes base64 (RFC 4648, section 4), as in Kubernetes Secrets and kubeconfigs.
// Source   libsodium
// Errors   no value for a character outside the alphabet or an impossible length
// Threads  pure
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wattle {

// Padded, without line breaks.
std::optional<std::string> base64_decode(std::string_view text);
// The URL-safe alphabet without padding (RFC 4648, section 5), as in JSON Web Tokens.
std::optional<std::string> base64url_decode(std::string_view text);
std::string base64_encode(std::string_view bytes);

}  // namespace wattle
