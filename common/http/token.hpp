// token: the secret that a scraper of /metrics, or whoever asks, must show.
// Source   a file with one line, at least 16 characters, that only its owner may read (as Prometheus'
//          `authorization.credentials_file`)
// Errors   not_found, denied (others may read it), malformed
// Threads  values
#pragma once

#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::http {

// The word in the file.
Result<std::string> load_token(const std::string& path);

inline constexpr std::string_view kPassCookie = "wattle_pass";

class Token {
 public:
  static Result<Token> load(const std::string& path);
  // Of a header "Authorization: Bearer <token>". Takes as long for a wrong token as for the right one.
  bool admits(std::string_view authorization) const;
  // Of what somebody typed; as long.
  bool is(std::string_view word) const;
  std::size_t size() const { return secret_.size(); }

  // What stands in a browser's cookie for the token: an end and its HMAC-SHA256 by the token. It is good until then, over restarts, as
  // long as the token is the same; the token itself is not in it.
  std::string pass(WallTime end) const;
  // Of a header "Cookie: a=b; wattle_pass=...".
  bool admits_pass(std::string_view cookies, WallTime now) const;

 private:
  explicit Token(std::string secret) : secret_(std::move(secret)) {}
  std::string secret_;
};

}  // namespace wattle::http
