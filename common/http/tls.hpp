// tls: the server's side of TLS, and the stream that is plain or TLS; private to this folder.
// Source   OpenSSL through Boost.Asio; TLS 1.2 and 1.3, no renegotiation, no tickets
// Errors   not_found, denied (a key that others may read), malformed (no PEM, no pair, expired)
// Threads  a Stream belongs to its strand; TlsSource to the acceptor's
#pragma once

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <memory>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/http/access.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::http {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

Result<TlsContext> load_tls(const TlsFiles& files, WallTime now);

// The context of new connections, read again when the files have changed. What cannot be read leaves the old one.
class TlsSource {
 public:
  static Result<TlsSource> open_(TlsFiles files);
  const TlsContext& current(const Log& log);

 private:
  TlsSource(TlsFiles files, TlsContext context, std::string fingerprint)
      : files_(std::move(files)), context_(std::move(context)), fingerprint_(std::move(fingerprint)) {}
  TlsFiles files_;
  TlsContext context_;
  std::string fingerprint_;
  SystemClock clock_;
  MonoTime looked_{};
};

// A socket, with TLS around it if there is a context. Beast reads and writes it as either.
class Stream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using executor_type = Socket::executor_type;
  Stream(Socket socket, TlsContext tls) : socket_(std::move(socket)), context_(std::move(tls)) {
    if (context_) tls_.emplace(socket_, *context_);
  }
  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  bool secure() const { return tls_.has_value(); }
  boost::asio::ssl::stream<Socket&>& tls() { return *tls_; }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    else
      socket_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    else
      socket_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  Socket socket_;
  TlsContext context_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace wattle::http
