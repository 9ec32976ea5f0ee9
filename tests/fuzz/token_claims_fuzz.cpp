// Claims of JSON Web Tokens: any text gives no claims, or claims with a subject and a time that can be computed with.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/token_claims.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto claims = wattle::unverified_claims({reinterpret_cast<const char*>(data), size});
  if (claims && (claims->expires_s <= 0 || claims->expires_s >= 1'000'000'000'000)) std::abort();
  return 0;
}
