#include "common/http/stream.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

namespace wattle::http {

namespace net = boost::asio;

struct Stream::Tls {
  Tls(Socket& socket, TlsContext given) : context(std::move(given)), stream(socket, *context) {}
  TlsContext context;
  net::ssl::stream<Socket&> stream;
};

Stream::Stream(Socket socket, TlsContext tls) : socket_(std::move(socket)) {
  if (tls) tls_ = std::make_unique<Tls>(socket_, std::move(tls));
}
Stream::~Stream() = default;

void Stream::async_handshake(Ended done) {
  tls_->stream.async_handshake(net::ssl::stream_base::server, std::move(done));
}

void Stream::async_shutdown(Ended done) { tls_->stream.async_shutdown(std::move(done)); }

void Stream::async_read_some(net::mutable_buffer into, Moved done) {
  const net::mutable_buffers_1 buffer(into);
  if (tls_)
    tls_->stream.async_read_some(buffer, std::move(done));
  else
    socket_.async_read_some(buffer, std::move(done));
}

std::size_t Stream::read_now(net::mutable_buffer into) {
  if (tls_) return 0;
  const ssize_t count = ::recv(socket_.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

std::size_t Stream::write_now(std::string_view first, std::string_view second) {
  if (tls_) return 0;
  std::array<iovec, 2> parts{
      {{const_cast<char*>(first.data()), first.size()}, {const_cast<char*>(second.data()), second.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t count = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

void Stream::async_write(std::string_view first, std::string_view second, Moved done) {
  const std::array<net::const_buffer, 2> all{net::buffer(first.data(), first.size()),
                                             net::buffer(second.data(), second.size())};
  if (tls_)
    net::async_write(tls_->stream, all, std::move(done));
  else
    net::async_write(socket_, all, std::move(done));
}

}  // namespace wattle::http
