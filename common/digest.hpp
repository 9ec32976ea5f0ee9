// digest: fingerprints of content, to notice that a file changed, and of long random words; not for passwords.
// Errors   none (running out of memory aborts)
// Threads  any
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace wattle {

// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view content);

// Of content that comes in parts.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view part);
  std::string hex();  // once

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// No early end: the time tells nothing of how many characters were right.
bool same_secret(std::string_view shown, std::string_view secret);

}  // namespace wattle
