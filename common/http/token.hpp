// token: the secret that clients must present, for example a scraper of /metrics.
// Source   a file with one line of at least 16 characters that only its owner may read (like Prometheus'
//          `authorization.credentials_file`)
// Errors   not_found, denied (others may read it), malformed
// Threads  values
#pragma once

#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::http {

// Returns the word in the file.
Result<std::string> load_token(const std::string& path);

inline constexpr std::string_view kPassCookie = "wattle_pass";

class Token {
 public:
  static Result<Token> load(const std::string& path);
  // Checks a header "Authorization: Bearer <token>" in constant time.
  bool admits(std::string_view authorization) const;
  // Checks a typed word in constant time.
  bool is(std::string_view word) const;
  std::size_t size() const { return secret_.size(); }

  // Value of a browser's cookie that replaces the token: an expiry time and its HMAC-SHA256 with the token as key. It
  // stays valid until then, across restarts, while the token is unchanged, and does not contain the token.
  std::string pass(WallTime end) const;
  // Checks a header "Cookie: a=b; wattle_pass=...".
  bool admits_pass(std::string_view cookies, WallTime now) const;

 private:
  explicit Token(std::string secret) : secret_(std::move(secret)) {}
  std::string secret_;
};

}  // namespace wattle::http
