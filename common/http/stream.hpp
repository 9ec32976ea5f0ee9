// stream: server side of one TCP connection, plain or TLS; private to this folder.
// Source   Boost.Asio; handlers are std::function, so that every operation is compiled only once, in stream.cpp
// Errors   error_code of the operation
// Threads  single owner: the socket's strand
#pragma once

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "common/http/tls.hpp"

namespace wattle::http {

class Stream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Ended = std::function<void(boost::system::error_code)>;
  using Moved = std::function<void(boost::system::error_code, std::size_t)>;

  Stream(Socket socket, TlsContext tls);
  ~Stream();
  Socket::executor_type executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  bool secure() const { return tls_ != nullptr; }

  void async_handshake(Ended done);
  // Ends TLS; only for a secure stream.
  void async_shutdown(Ended done);
  void async_read_some(boost::asio::mutable_buffer into, Moved done);
  // Moves the bytes that are available, or that fit, without waiting, and returns their number. Returns 0 for TLS and
  // for errors, which async_read_some() and async_write() report.
  std::size_t read_now(boost::asio::mutable_buffer into);
  std::size_t write_now(std::string_view first, std::string_view second);
  // Writes both texts completely; they must stay valid until `done` runs.
  void async_write(std::string_view first, std::string_view second, Moved done);

 private:
  struct Tls;
  Socket socket_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace wattle::http
