// line_stream: a GET request with an endless answer, read line by line.
// Errors   as client.hpp; timeout: no byte for `silence`; malformed: a line longer than max_line_bytes
// Threads  single owner; stop() from any
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/http/client.hpp"
#include "common/http/origin.hpp"

namespace wattle::http {

struct LineStreamOptions {
  std::chrono::milliseconds connect_within{10'000};
  std::chrono::milliseconds silence{60'000};  // longest time without a byte
  std::size_t max_line_bytes = 16 << 20;
  std::size_t max_refusal_bytes = 64 << 10;  // kept from the body of a status other than 200
};

class LineStream {
 public:
  LineStream(Origin origin, LineStreamOptions options);
  ~LineStream();
  void bearer(std::string token);
  // Passes each whole line, without its newline, to `line` until the peer closes or `line` returns false. For a status
  // other than 200, returns the body instead. Each call opens its own connection.
  Result<Answer> get(const std::string& target, const std::function<bool(std::string_view)>& line);
  // Ends the current get() and all later ones.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::http
