// HTTP server: any bytes on a connection are requests that are answered, refused with a status line, or cut; the output
// is consecutive HTTP answers of the announced lengths. The first byte selects where the input is split into two sends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "common/http/server.hpp"
#include "common/parse.hpp"
#include "tests/fuzz/loopback.hpp"

namespace {

using namespace wattle;

http::Response echo(const http::Request& request) {
  if (request.method.empty() || !request.path.starts_with('/')) std::abort();
  return {200, "text/plain", request.path + "\n" + request.body};
}

const http::Server& server() {
  static const Log log = Log::silent();
  static const auto started = [] {
    http::ServerOptions options;
    options.threads = 1;
    options.max_header_bytes = 2048;
    return http::Server::start(options, {{"GET /", echo}, {"POST /echo", {echo, 1024}}, {"PUT /a/b", echo}}, log);
  }();
  if (!started) std::abort();
  return *started;
}

// Length of the answer with its header; no value if it is not an answer.
std::optional<std::size_t> answer_bytes(std::string_view text) {
  const auto end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.") || end == std::string_view::npos) return std::nullopt;
  if (text.substr(8).starts_with(" 100 ")) return end + 4;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const auto at = text.find(kLength);
  if (at > end) return std::nullopt;
  const auto from = at + kLength.size();
  const auto length = parse::u64(text.substr(from, text.find("\r\n", from) - from));
  if (!length) return std::nullopt;
  return end + 4 + *length;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t first = bytes.size() * data[0] / 255;
  const std::string answers = fuzz::converse(server().port(), {bytes.substr(0, first), bytes.substr(first)});
  if (bytes.find("HEAD") != std::string_view::npos) return 0;  // HEAD: the announced body is not sent
  for (std::string_view rest = answers; !rest.empty();) {
    const auto length = answer_bytes(rest);
    if (!length || *length > rest.size()) std::abort();
    rest.remove_prefix(*length);
  }
  return 0;
}
