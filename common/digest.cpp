#include "common/digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <cstdlib>

namespace wattle {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) std::abort();
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

void Sha256::add(std::string_view part) {
  if (EVP_DigestUpdate(context_.get(), part.data(), part.size()) != 1) std::abort();
}

std::string sha256_hex(std::string_view content) {
  Sha256 digest;
  digest.add(content);
  return digest.hex();
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) std::abort();
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

bool same_secret(std::string_view shown, std::string_view secret) {
  if (shown.empty()) return secret.empty();
  unsigned different = shown.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret.size(); ++i)
    different |= static_cast<unsigned>(static_cast<unsigned char>(secret[i]) ^
                                       static_cast<unsigned char>(shown[i % shown.size()]));
  return different == 0;
}

}  // namespace wattle
