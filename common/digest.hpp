// digest: SHA-256 hashes, to detect changed files and to store random tokens only as hashes; not for passwords.
// Errors   none (aborts if out of memory)
// Threads  any
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace wattle {

// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view content);

// Hashes content that arrives in parts.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view part);
  std::string hex();  // call once

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// Compares in constant time, so that timing does not reveal how many characters match.
bool same_secret(std::string_view shown, std::string_view secret);

}  // namespace wattle
