// token_claims: the claims of a JSON Web Token, read without a check of its signature.
// Source   RFC 7519; the tokens of Kubernetes service accounts (sub, aud and exp)
// Rule     use the claims only to refuse a token early, or after the API server has confirmed the same token
// Errors   no value for a text that is no such token, or that lacks one of the three claims
// Threads  pure
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wattle {

struct TokenClaims {
  std::string subject;
  std::vector<std::string> audiences;
  std::int64_t expires_s = 0;  // Unix seconds; positive
};
std::optional<TokenClaims> unverified_claims(std::string_view token);

}  // namespace wattle
