// Join tokens: any text parses or gives an error that does not repeat it; a parsed token survives a round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/join_token.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // Parses the input unchanged, and with a valid checksum, which a fuzzer rarely finds.
  for (const std::string& input : {text, sealed_join_text(text)}) {
    const auto token = parse_join_token(input);
    if (!token) {
      if (token.error().fix.empty()) std::abort();
      continue;
    }
    if (!is_host(token->host)) std::abort();
    const auto again = parse_join_token(to_text(*token));
    if (!again || *again != *token) std::abort();
  }
  return 0;
}
