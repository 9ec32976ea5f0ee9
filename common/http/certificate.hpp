// certificate: a certificate that vouches for itself, for an endpoint whose clients are given it as their authority; and when
// certificates end.
// Source   a fresh key on P-256; PEM
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

// For a server of these DNS names, of which there is at least one; good from a day before `now`, for clocks that differ.
Result<Certificate> self_signed(const std::vector<std::string>& names, WallTime now, std::chrono::hours valid);

// SHA-256 of the first certificate in it, which is the server's own, in lower-case hexadecimal digits.
Result<std::string> certificate_file_fingerprint(const std::string& path);

// The first end of any certificate in it.
Result<WallTime> certificates_end(std::string_view pem, const std::string& subject);
Result<WallTime> certificate_file_end(const std::string& path);

inline constexpr std::chrono::hours kEndsSoon{30 * 24};
// "ends in 12 days", "ended 3 days ago"; absent while it lasts longer than kEndsSoon.
std::optional<std::string> ends_soon(WallTime end, WallTime now);

}  // namespace wattle::http
