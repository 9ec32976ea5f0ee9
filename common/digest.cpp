#include "common/digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <cstdlib>

namespace wattle {

std::string sha256_hex(std::string_view content) {
  std::array<unsigned char, 32> digest{};
  unsigned size = 0;
  if (EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) std::abort();
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace wattle
