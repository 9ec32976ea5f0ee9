// HTTP answers: any bytes are complete, invalid or incomplete; further bytes do not change the result of a prefix.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "agent/collect/probe_http.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattle::agent;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = judge_http_answer(bytes);
  for (const std::size_t part : {size / 4, size / 2, size - size / 4}) {
    const auto before = judge_http_answer(bytes.substr(0, part));
    if (before != HttpAnswer::incomplete && before != whole) std::abort();
  }
  if (valid_http_path(bytes)) {
    const std::string request = http_request("h", 1, bytes);
    if (request.find(std::string("\r\n\r\n")) != request.size() - 4) std::abort();
  }
  return 0;
}
