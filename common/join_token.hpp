// join_token: what `wattle token` prints and `wattle join` takes: all that a machine needs to become a node of a controller.
// Format   "wattle-" and the base64 of "1 HOST ENROL-PORT TELEMETRY-PORT SERVER-KEY FINGERPRINT SECRET SUM"; SERVER-KEY in Z85, FINGERPRINT
//          the SHA-256 of the certificate that enrolment shows, SECRET of common/enrol_tokens, SUM eight digits of the SHA-256 of the rest
// Errors   malformed, which never repeats the token
// Threads  values and pure functions
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle {

struct JoinToken {
  std::string host;  // a name or an address
  std::uint16_t enrol_port = 0, telemetry_port = 0;
  std::string server_key;   // the controller's CURVE key
  std::string fingerprint;  // of its certificate
  std::string secret;       // good once
  bool operator==(const JoinToken&) const = default;
  // "tcp://HOST:PORT"
  std::string telemetry_endpoint() const;
};

// Letters, digits, '.', '-', and ':' of an address: nothing that a file or a URL would take for more.
bool is_host(std::string_view text);
std::string to_text(const JoinToken& token);
// The words of a token, with their sum, as a token is written.
std::string sealed_join_text(std::string_view words);
Result<JoinToken> parse_join_token(std::string_view text);

}  // namespace wattle
