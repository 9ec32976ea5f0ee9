// reviewer: says which node stands behind the bearer token that an agent shows when it enrols.
// Source   a file of hashed tokens (TokenFile), or a cluster's API server (token_review.hpp)
// Errors   a Refusal tells why, for the metric, and what to say to whoever asks; it never has the token
// Threads  any; review() and admitted() may wait for a file or another server
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::controller {

enum class EnrolRefused : std::uint8_t {
  rate,         // too many ask
  malformed,    // no token, no key, no JSON
  token,        // nobody made it, or its audience is another
  expired,      //
  used,         // by another key
  revoked_key,  // an operator took the key off
  other_key,    // the node has another key
  other_node,   // the key is another node's, or has another role
  unavailable,  // the token or the list cannot be looked at now
};
inline constexpr std::array<std::string_view, 9> kEnrolRefusedNames{
    "rate", "malformed", "token", "expired", "used", "revoked_key", "other_key", "other_node", "unavailable"};

struct Admission {
  std::string node;      // the only one that the key may be allowed for
  std::string by;        // which token, for the log
  bool replace = false;  // the node may exchange the key that it has
};

struct EnrolRefusal {
  EnrolRefused why = EnrolRefused::token;
  Error error;
};
template <class T>
using Reviewed = tl::expected<T, EnrolRefusal>;
inline tl::unexpected<EnrolRefusal> because(EnrolRefused why, Error error) {
  return tl::unexpected<EnrolRefusal>({why, std::move(error)});
}

class Reviewer {
 public:
  virtual ~Reviewer() = default;
  // Who shows the token, to have `key` allowed.
  virtual Reviewed<Admission> review(std::string_view token, const std::string& key) = 0;
  // From here on a token that is good once is good for `key` alone, durably.
  virtual Status admitted(std::string_view token, const std::string& key) = 0;
};

// Tokens of common/enrol_tokens.hpp, read anew each time.
class TokenFile final : public Reviewer {
 public:
  TokenFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}
  Reviewed<Admission> review(std::string_view token, const std::string& key) override;
  Status admitted(std::string_view token, const std::string& key) override;

 private:
  const std::string path_;
  const Clock& clock_;
  std::mutex mutex_;
};

}  // namespace wattle::controller
