#include "common/http/connection.hpp"

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <cerrno>
#include <functional>
#include <optional>

#include "common/clock.hpp"
#include "common/http/fingerprint.hpp"
#include "common/http/pem_file.hpp"

namespace wattle::http {
namespace {

namespace net = boost::asio;
namespace ssl = net::ssl;
namespace beast = boost::beast;
namespace bhttp = beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;
using Moved = std::function<void(error_code, std::size_t)>;

// Returns the address without the zone, which has a meaning on this machine only; neither a Host header nor a
// certificate has one.
std::string without_zone(const std::string& host) {
  return host.find(':') == std::string::npos ? host : host.substr(0, host.find('%'));
}

tl::unexpected<Error> no_pem(const std::string& path, const char* fix) {
  ERR_clear_error();
  if (::access(path.c_str(), R_OK) != 0) return fail_errno(errno, path, fix);
  return fail(Errc::malformed, path, "is not valid PEM", fix);
}

Status fill(SSL_CTX* context, const Trust& trust) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ERR_clear_error();
  if (!trust.ca_file.empty()) WATTLE_CHECK(check_pem(trust.ca_file, PemUse::authority));
  if (trust.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, trust.ca_file.c_str(), nullptr) != 1) {
    return no_pem(trust.ca_file, "set it to the file of the CA of the peer's certificate");
  } else {
    // A certificate in the file is trusted even if another authority signed it, as in Go's clients.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  }
  if (trust.certificate.empty()) return {};
  WATTLE_CHECK(check_pem(trust.certificate, PemUse::shown));
  WATTLE_CHECK(check_pem(trust.key, PemUse::secret));
  if (SSL_CTX_use_certificate_chain_file(context, trust.certificate.c_str()) != 1)
    return no_pem(trust.certificate, "set it to the file of this client's certificate");
  if (SSL_CTX_use_PrivateKey_file(context, trust.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    return no_pem(trust.key, "set it to the file of the key of this client's certificate");
  return {};
}

}  // namespace

std::string authority(const Origin& origin) {
  const std::string host = without_zone(origin.host);
  const bool bare_ipv6 = host.find(':') != std::string::npos;
  return (bare_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(origin.port);
}

std::string Origin::url() const { return (tls ? "https://" : "http://") + authority(*this); }

struct Connection::Impl {
  explicit Impl(Origin given) : origin(std::move(given)) {}
  void finish() {
    io.restart();
    io.run();
  }
  void close() {
    tls.reset();
    tcp_stream.reset();
  }
  error_code reach(std::chrono::milliseconds timeout);
  Status shake_hands(const std::string& target, std::chrono::milliseconds timeout);
  tl::unexpected<Error> failure(error_code error, const std::string& target) const;

  const Origin origin;
  std::atomic<bool> stopped = false;
  net::io_context io{1};
  std::optional<beast::tcp_stream> tcp_stream;
  std::optional<ssl::context> context;
  std::optional<ssl::stream<beast::tcp_stream&>> tls;
};

Connection::Connection(Origin origin) : impl_(std::make_unique<Impl>(std::move(origin))) {}
Connection::~Connection() = default;
const Origin& Connection::origin() const { return impl_->origin; }
bool Connection::open() const { return impl_->tcp_stream.has_value(); }
void Connection::close() { impl_->close(); }
void Connection::expires_after(std::chrono::milliseconds limit) { impl_->tcp_stream->expires_after(limit); }

tl::unexpected<Error> Connection::failure(error_code error, const std::string& target) const {
  return impl_->failure(error, target);
}

void Connection::stop() {
  impl_->stopped = true;
  net::post(impl_->io, [impl = impl_.get()] {
    if (impl->tcp_stream) impl->tcp_stream->close();
  });
}

error_code Connection::write(std::string_view bytes) {
  error_code result;
  const Moved done = [&result](error_code error, std::size_t) { result = error; };
  const net::const_buffer all(bytes.data(), bytes.size());
  if (impl_->tls)
    net::async_write(*impl_->tls, net::const_buffers_1(all), done);
  else
    net::async_write(*impl_->tcp_stream, net::const_buffers_1(all), done);
  impl_->finish();
  return result;
}

error_code Connection::read_some(void* into, std::size_t room, std::size_t& count) {
  error_code result;
  const Moved done = [&result, &count](error_code error, std::size_t moved) {
    result = error;
    count = moved;
  };
  const net::mutable_buffers_1 buffer(into, room);
  if (impl_->tls)
    impl_->tls->async_read_some(buffer, done);
  else
    impl_->tcp_stream->async_read_some(buffer, done);
  impl_->finish();
  return result;
}

Status Connection::connect(const std::string& target, std::chrono::milliseconds timeout) {
  close();
  if (impl_->stopped) return failure({}, target);
  if (const error_code error = impl_->reach(timeout)) {
    close();
    return failure(error, target);
  }
  if (!origin().tls) return {};
  Status shaken = impl_->shake_hands(target, timeout);
  if (!shaken) close();
  return shaken;
}

error_code Connection::Impl::reach(std::chrono::milliseconds timeout) {
  error_code result;
  tcp_stream.emplace(io);
  tcp_stream->expires_after(timeout);
  const auto keep = [&result](error_code error, auto&&...) { result = error; };
  const auto numeric = net::ip::make_address(origin.host, result);
  if (!result) {
    tcp_stream->async_connect(tcp::endpoint(numeric, origin.port), keep);
    finish();
  } else {
    result = net::error::timed_out;
    tcp::resolver resolver(io);
    tcp::resolver::results_type found;
    resolver.async_resolve(origin.host, std::to_string(origin.port), [&](error_code error, auto results) {
      result = error;
      found = std::move(results);
    });
    io.restart();
    io.run_for(timeout);
    if (result == net::error::timed_out) {
      resolver.cancel();
      finish();
      return beast::error::timeout;
    }
    if (result) return result;
    // Each address gets a share of the time, so that one that does not answer leaves some for the others.
    const SystemClock clock;
    const MonoTime until = clock.mono() + timeout;
    auto others = static_cast<int>(found.size());
    for (const auto& entry : found) {
      tcp_stream.emplace(io);
      tcp_stream->expires_after((until - clock.mono()) / others--);
      tcp_stream->async_connect(entry.endpoint(), keep);
      finish();
      if (!result || stopped) break;
    }
  }
  if (result) return result;
  error_code ignored;
  tcp_stream->socket().set_option(tcp::no_delay(true), ignored);
  return {};
}

Status Connection::Impl::shake_hands(const std::string& target, std::chrono::milliseconds timeout) {
  try {
    context.emplace(ssl::context::tls_client);
    WATTLE_CHECK(fill(context->native_handle(), *origin.tls));
    tls.emplace(*tcp_stream, *context);
  } catch (const std::exception& error) {
    return fail(Errc::io, "TLS", error.what());
  }
  SSL* session = tls->native_handle();
  const std::string expected_name =
      origin.tls->server_name.empty() ? without_zone(origin.host) : origin.tls->server_name;
  error_code numeric;
  net::ip::make_address(expected_name, numeric);
  // A server with several names presents the certificate of the name in SNI, which must not be an address.
  if (std::string name = expected_name; numeric)
    SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  const auto other = std::make_shared<bool>(false);  // a failed handshake leaves no certificate to inspect
  if (const std::string& pinned = origin.tls->fingerprint; !pinned.empty()) {
    tls->set_verify_callback([&pinned, other](bool, ssl::verify_context& checked) {
      X509_STORE_CTX* const store = checked.native_handle();
      if (X509_STORE_CTX_get_error_depth(store) > 0) return true;
      *other = fingerprint_of(X509_STORE_CTX_get_current_cert(store)) != pinned;
      return !*other;
    });
  } else {
    tls->set_verify_callback(ssl::host_name_verification(expected_name));
  }
  error_code result;
  tcp_stream->expires_after(timeout);
  tls->async_handshake(ssl::stream_base::client, [&result](error_code error) { result = error; });
  finish();
  if (result && (stopped || result == beast::error::timeout)) return failure(result, target);
  X509* const shown = SSL_get0_peer_certificate(session);
  const bool expected = shown != nullptr && fingerprint_of(shown) == origin.tls->fingerprint;
  if (!origin.tls->fingerprint.empty() && (*other || (!result && !expected)))
    return fail(Errc::denied, origin.url() + target, "the server's certificate differs from the expected one",
                "check that it is the right controller and that its certificate has not been renewed");
  if (!result) return {};
  const long verified = SSL_get_verify_result(session);
  const std::string why = verified == X509_V_OK ? result.message() : X509_verify_cert_error_string(verified);
  return fail(Errc::denied, origin.url() + target, "TLS: " + why,
              "check that the certificate is for this host and signed by a CA in " +
                  (origin.tls->ca_file.empty() ? "the system's files" : origin.tls->ca_file));
}

tl::unexpected<Error> Connection::Impl::failure(error_code error, const std::string& target) const {
  const std::string subject = origin.url() + target;
  if (stopped) return fail(Errc::unavailable, subject, "the request was cancelled");
  if (error == beast::error::timeout) return fail(Errc::timeout, subject, "no answer in time");
  if (error == bhttp::error::body_limit || error == bhttp::error::header_limit)
    return fail(Errc::malformed, subject, "the answer is larger than the limit");
  if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message || error == net::error::eof ||
      error == ssl::error::stream_truncated)
    return fail(Errc::unavailable, subject, "the peer closed the connection without an answer");
  if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category())
    return fail(Errc::malformed, subject, "the answer is not HTTP: " + error.message());
  return fail(Errc::unavailable, subject, error.message(),
              "check that the server is running and that the port is right");
}

}  // namespace wattle::http
