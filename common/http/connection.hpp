// connection: a client's side of one TCP connection, plain or TLS, whose every step ends in time; private to this folder.
// Source   Boost.Asio, Boost.Beast's tcp_stream for the limits; OpenSSL
// Errors   error_code of the step; problem() says what TLS objects to
// Threads  single owner
#pragma once

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "common/http/origin.hpp"
#include "common/result.hpp"

namespace wattle::http {

class Connection {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  explicit Connection(Origin origin) : origin_(std::move(origin)) {}

  const Origin& origin() const { return origin_; }
  bool open() const { return tcp_.has_value(); }
  void close();
  // To the peer, and through the handshake, each within `timeout`; errors name what is asked for.
  Status connect(const std::string& target, std::chrono::milliseconds timeout);
  // What went wrong with a request for `target`.
  tl::unexpected<Error> failure(boost::system::error_code error, const std::string& target) const;

  // Runs what was started until it ends.
  void finish();
  // From any thread: what is under way fails, and so does everything after.
  void stop();
  bool stopped() const { return stopped_; }
  void expires_after(std::chrono::milliseconds limit) { tcp_->expires_after(limit); }

  executor_type get_executor() { return tcp_->get_executor(); }
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    else
      tcp_->async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    else
      tcp_->async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  boost::system::error_code reach(std::chrono::milliseconds timeout);
  Status shake_hands(const std::string& target, std::chrono::milliseconds timeout);

  Origin origin_;
  std::atomic<bool> stopped_ = false;
  boost::asio::io_context io_{1};
  std::optional<boost::beast::tcp_stream> tcp_;
  std::optional<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

}  // namespace wattle::http
