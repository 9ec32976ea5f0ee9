// reviewer: checks the bearer token that an enrolling agent shows, and returns its node; or that of a person who reads.
// Source   a file of hashed tokens (token_file.hpp), or a cluster's API server (token_review.hpp, reader_review.hpp)
// Errors   an EnrolRefusal with the reason for the metric and the error for the client; it never contains the token
// Threads  any; review() and admitted() may wait for a file or another server
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/clock.hpp"
#include "common/result.hpp"

namespace wattle::controller {

enum class EnrolRefused : std::uint8_t {
  rate,         // too many requests
  malformed,    // no token, no key, no JSON
  token,        // unknown token, or a token for another audience
  expired,      //
  used,         // by another key
  revoked_key,  // an operator revoked the key
  other_key,    // the node has another key
  other_node,   // the key belongs to another node, or has another role
  unavailable,  // the token or the list cannot be read now
};
inline constexpr std::array<std::string_view, 9> kEnrolRefusedNames{
    "rate", "malformed", "token", "expired", "used", "revoked_key", "other_key", "other_node", "unavailable"};

struct Admission {
  std::string node;                        // the only node that the key may be allowed for
  std::string by;                          // name of the token, for the log
  bool replace = false;                    // the node may replace its existing key
  std::optional<Duration> reads_for = {};  // set: there is no node, and the key may read for this long
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
  // Returns the node that the token admits, to have `key` allowed.
  virtual Reviewed<Admission> review(std::string_view token, const std::string& key) = 0;
  // Binds a single-use token to `key`, durably.
  virtual Status admitted(std::string_view token, const std::string& key) = 0;
};

}  // namespace wattle::controller
