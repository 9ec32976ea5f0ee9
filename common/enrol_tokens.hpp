// enrol_tokens: tokens with which nodes enrol, as a file that has their hashes.
// Format   "HASH NODE EXPIRES [replace] [used KEY TIME]" a line, '#' begins a comment. HASH: SHA-256 of the token, which is random and
//          long, hence no salt. EXPIRES, TIME: Unix seconds. replace: the node may exchange the key it has. used: by whom
// Rules    a token is good once, and for the key that used it again: an answer that was lost can be asked for again
// Errors   malformed: file and line; io
// Threads  values and pure functions
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"

namespace wattle {

// A token whose node is this one is for whichever has no key yet: it says its own name.
inline constexpr std::string_view kAnyNode = "*";

struct EnrolToken {
  std::string hash;
  std::string node;
  std::int64_t expires_s = 0;
  bool replace = false;
  std::string used_by;  // public key; empty: nobody yet
  std::int64_t used_s = 0;
  // For people and logs.
  std::string id() const { return hash.substr(0, 12); }
  bool operator==(const EnrolToken&) const = default;
};

// A random word that is shown once.
Result<std::string> make_enrol_token();
std::string enrol_hash(std::string_view token);

Result<std::vector<EnrolToken>> parse_enrol_tokens(std::string_view text, const std::string& name);
// A file that is not there has none.
Result<std::string> read_enrol_file(const std::string& path);
// The text with the token's line in the place of its old one, or behind the others; every other line as it was.
std::string with_enrol_token(std::string_view text, const EnrolToken& token);
std::string without_enrol_token(std::string_view text, std::string_view hash);

}  // namespace wattle
