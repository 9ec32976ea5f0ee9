// token: the secret that a scraper of /metrics, or whoever asks, must show.
// Source   a file with one line, at least 16 characters, that only its owner may read (as Prometheus'
//          `authorization.credentials_file`)
// Errors   not_found, denied (others may read it), malformed
// Threads  values
#pragma once

#include <string>
#include <string_view>

#include "common/result.hpp"

namespace wattle::http {

// The word in the file.
Result<std::string> load_token(const std::string& path);

class Token {
 public:
  static Result<Token> load(const std::string& path);
  // Of a header "Authorization: Bearer <token>". Takes as long for a wrong token as for the right one.
  bool admits(std::string_view authorization) const;

 private:
  explicit Token(std::string secret) : secret_(std::move(secret)) {}
  std::string secret_;
};

}  // namespace wattle::http
