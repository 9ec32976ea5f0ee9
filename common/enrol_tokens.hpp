// enrol_tokens: tokens with which nodes enrol, kept as a file of their hashes.
// Format   one line per token: "HASH NODE EXPIRES [replace] [used KEY TIME]"; '#' starts a comment. HASH is the SHA-256
//          of the token, which is long and random and so needs no salt. EXPIRES and TIME are Unix seconds. "replace"
//          lets the node exchange its key. "used" names the public key that used the token
// Rules    a token works once, and again for the key that used it, so that a node can repeat a request whose answer was
//          lost
// Errors   malformed: file and line; io
// Threads  values and pure functions
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle {

// Audience of the service account tokens that the controller accepts.
inline constexpr const char* kTokenAudience = "wattle";
// Node name of a token that any node without a key may use; the node chooses its own name.
inline constexpr std::string_view kAnyNode = "*";

struct EnrolToken {
  std::string hash;
  std::string node;
  std::int64_t expires_s = 0;
  bool replace = false;
  std::string used_by;  // public key; empty: unused
  std::int64_t used_s = 0;
  // Short name for people and logs.
  std::string id() const { return hash.substr(0, 12); }
  bool operator==(const EnrolToken&) const = default;
};

// Returns a new random token. It is shown once and stored only as a hash.
Result<std::string> make_enrol_token();
std::string enrol_hash(std::string_view token);

Result<std::vector<EnrolToken>> parse_enrol_tokens(std::string_view text, const std::string& name);
// Returns an empty text if the file does not exist.
Result<std::string> read_enrol_file(const std::string& path);
// Replaces the token's line or appends one; keeps every other line unchanged.
std::string with_enrol_token(std::string_view text, const EnrolToken& token);
std::string without_enrol_token(std::string_view text, std::string_view hash);

}  // namespace wattle
