// Requests of the environment: an accepted request is one of four kinds, and every line gets an answer of one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sim/env/env_protocol.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::sim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto request = parse_env_request(text);
  if (size > kMaxRequestBytes && request) std::abort();
  if (!request && request.error().what.empty()) std::abort();
  return 0;
}
