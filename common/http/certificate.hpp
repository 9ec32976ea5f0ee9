// certificate: creates self-signed certificates for endpoints whose clients trust exactly that certificate, and reads
// when certificates expire.
// Source   a new P-256 key; PEM
// Errors   io (OpenSSL refuses), malformed (no certificate in it), those of the file
// Threads  any
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::http {

// PEM
struct Certificate {
  std::string certificate;
  std::string key;  // a secret
};

// Creates a certificate for these DNS names, at least one. It is valid from a day before `now`, because clocks differ.
Result<Certificate> self_signed(const std::vector<std::string>& names, WallTime now, std::chrono::hours valid);

// SHA-256 of the file's first certificate, which is the server's own, in lower-case hexadecimal digits.
Result<std::string> certificate_file_fingerprint(const std::string& path);

// Earliest expiry of any certificate in the text.
Result<WallTime> certificates_end(std::string_view pem, const std::string& subject);
Result<WallTime> certificate_file_end(const std::string& path);

inline constexpr std::chrono::hours kEndsSoon{30 * 24};
// Text such as "ends in 12 days" or "ended 3 days ago"; no value while more than kEndsSoon is left.
std::optional<std::string> ends_soon(WallTime end, WallTime now);

}  // namespace wattle::http
