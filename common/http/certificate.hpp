// certificate: a certificate that vouches for itself, for an endpoint whose clients are given it as their authority.
// Source   a fresh key on P-256
// Errors   io (OpenSSL refuses)
// Threads  any
#pragma once

#include <chrono>
#include <string>
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

// The last moment at which the first certificate of a PEM text is good. Errors: malformed
Result<WallTime> good_until(const std::string& pem);

}  // namespace wattle::http
