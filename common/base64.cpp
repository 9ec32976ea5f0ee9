#include "common/base64.hpp"

#include <sodium/utils.h>

namespace wattle {

namespace {

std::optional<std::string> decode(std::string_view text, int variant) {
  std::string out(text.size() / 4 * 3 + 2, '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), text.data(), text.size(), nullptr,
                        &size, nullptr, variant) != 0)
    return std::nullopt;
  out.resize(size);
  return out;
}

}  // namespace

std::optional<std::string> base64_decode(std::string_view text) { return decode(text, sodium_base64_VARIANT_ORIGINAL); }
std::optional<std::string> base64url_decode(std::string_view text) {
  return decode(text, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

std::string base64_encode(std::string_view bytes) {
  std::string out(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  out.pop_back();  // the terminating zero
  return out;
}

}  // namespace wattle
