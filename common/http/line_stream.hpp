// line_stream: a GET whose answer goes on for as long as the peer likes, taken line by line.
// Errors   as client.hpp; timeout: nothing came for `silence`; malformed: a line beyond max_line_bytes
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
  std::size_t max_refusal_bytes = 64 << 10;  // kept of the body of another status than 200
};

class LineStream {
 public:
  LineStream(Origin origin, LineStreamOptions options);
  ~LineStream();
  void bearer(std::string token);
  // Gives each whole line, without its end, until the peer ends or `line` says false. Any other status than 200 comes back with
  // its body instead. Each call has a connection of its own.
  Result<Answer> get(const std::string& target, const std::function<bool(std::string_view)>& line);
  // Ends a get() that is under way, and every later one.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wattle::http
