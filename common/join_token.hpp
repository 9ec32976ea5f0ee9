// join_token: the text that `wattle keys token new` prints and `wattle join` takes: everything that a machine
// needs to become a node of a controller.
// Format   "wattle-" and the base64 of "1 HOST ENROL-PORT TELEMETRY-PORT SERVER-KEY FINGERPRINT SECRET SUM". SERVER-KEY
//          is Z85; FINGERPRINT is the SHA-256 of the enrolment server's certificate; SECRET is a token of
//          common/enrol_tokens; SUM is eight digits of the SHA-256 of the rest
// Errors   malformed; the error never repeats the token
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
  std::string fingerprint;  // SHA-256 of its certificate
  std::string secret;       // works once
  bool operator==(const JoinToken&) const = default;
  // "tcp://HOST:PORT"
  std::string telemetry_endpoint() const;
};

// Accepts letters, digits, '.', '-' and ':' only, so that the text is safe in a file and in a URL.
bool is_host(std::string_view text);
std::string to_text(const JoinToken& token);
// Encodes the words with their checksum as a token.
std::string sealed_join_text(std::string_view words);
Result<JoinToken> parse_join_token(std::string_view text);

}  // namespace wattle
