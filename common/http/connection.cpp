#include "common/http/connection.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <boost/beast/http/error.hpp>
#include <cerrno>
#include <memory>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/http/fingerprint.hpp"

namespace wattle::http {
namespace {

namespace net = boost::asio;
namespace ssl = net::ssl;
namespace beast = boost::beast;
namespace bhttp = beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;

tl::unexpected<Error> no_pem(const std::string& path, const char* mend) {
  ERR_clear_error();
  if (::access(path.c_str(), R_OK) != 0) return fail_errno(errno, path, mend);
  return fail(Errc::malformed, path, "cannot be read as PEM", mend);
}

Status fill(SSL_CTX* context, const Trust& trust) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ERR_clear_error();
  // OpenSSL would wait for a FIFO's writer.
  for (const std::string* file : {&trust.ca_file, &trust.certificate, &trust.key})
    if (!file->empty()) WATTLE_CHECK(check_regular(*file));
  if (trust.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, trust.ca_file.c_str(), nullptr) != 1) {
    return no_pem(trust.ca_file, "name the file with the authority of the peer's certificate");
  }
  if (trust.certificate.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, trust.certificate.c_str()) != 1)
    return no_pem(trust.certificate, "name the file with this client's certificate");
  if (SSL_CTX_use_PrivateKey_file(context, trust.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    return no_pem(trust.key, "name the file with the key of this client's certificate");
  return {};
}

}  // namespace

std::string Origin::url() const { return (tls ? "https://" : "http://") + host + ":" + std::to_string(port); }

void Connection::finish() {
  io_.restart();
  io_.run();
}

void Connection::stop() {
  stopped_ = true;
  net::post(io_, [this] {
    if (tcp_) tcp_->close();
  });
}

void Connection::close() {
  tls_.reset();
  tcp_.reset();
}

Status Connection::connect(const std::string& target, std::chrono::milliseconds timeout) {
  close();
  if (stopped_) return failure({}, target);
  if (const error_code error = reach(timeout)) {
    close();
    return failure(error, target);
  }
  if (!origin_.tls) return {};
  Status shaken = shake_hands(target, timeout);
  if (!shaken) close();
  return shaken;
}

error_code Connection::reach(std::chrono::milliseconds timeout) {
  error_code result;
  tcp_.emplace(io_);
  tcp_->expires_after(timeout);
  const auto keep = [&result](error_code error, auto&&...) { result = error; };
  const auto numeric = net::ip::make_address(origin_.host, result);
  if (!result) {
    tcp_->async_connect(tcp::endpoint(numeric, origin_.port), keep);
    finish();
  } else {
    result = net::error::timed_out;
    tcp::resolver resolver(io_);
    tcp::resolver::results_type found;
    resolver.async_resolve(origin_.host, std::to_string(origin_.port), [&](error_code error, auto results) {
      result = error;
      found = std::move(results);
    });
    io_.restart();
    io_.run_for(timeout);
    if (result == net::error::timed_out) {
      resolver.cancel();
      finish();
      return beast::error::timeout;
    }
    if (result) return result;
    // An address that does not answer takes its share of the time, so that some is left for the others.
    const SystemClock clock;
    const MonoTime until = clock.mono() + timeout;
    auto others = static_cast<int>(found.size());
    for (const auto& entry : found) {
      tcp_.emplace(io_);
      tcp_->expires_after((until - clock.mono()) / others--);
      tcp_->async_connect(entry.endpoint(), keep);
      finish();
      if (!result || stopped_) break;
    }
  }
  if (result) return result;
  error_code ignored;
  tcp_->socket().set_option(tcp::no_delay(true), ignored);
  return {};
}

Status Connection::shake_hands(const std::string& target, std::chrono::milliseconds timeout) {
  try {
    context_.emplace(ssl::context::tls_client);
    WATTLE_CHECK(fill(context_->native_handle(), *origin_.tls));
    tls_.emplace(*tcp_, *context_);
  } catch (const std::exception& error) {
    return fail(Errc::io, "TLS", error.what());
  }
  SSL* session = tls_->native_handle();
  error_code numeric;
  net::ip::make_address(origin_.host, numeric);
  // The name of a host is told so that a server of several shows the right certificate; addresses have no place there.
  if (numeric) SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, origin_.host.data());
  const auto other = std::make_shared<bool>(false);  // a failed handshake leaves no certificate to look at
  if (const std::string& pinned = origin_.tls->fingerprint; !pinned.empty()) {
    tls_->set_verify_callback([&pinned, other](bool, ssl::verify_context& context) {
      X509_STORE_CTX* const store = context.native_handle();
      if (X509_STORE_CTX_get_error_depth(store) > 0) return true;
      *other = fingerprint_of(X509_STORE_CTX_get_current_cert(store)) != pinned;
      return !*other;
    });
  } else {
    tls_->set_verify_callback(ssl::host_name_verification(origin_.host));
  }
  error_code result;
  tcp_->expires_after(timeout);
  tls_->async_handshake(ssl::stream_base::client, [&result](error_code error) { result = error; });
  finish();
  if (result && (stopped_ || result == beast::error::timeout)) return failure(result, target);
  X509* const shown = SSL_get0_peer_certificate(session);
  const bool expected = shown != nullptr && fingerprint_of(shown) == origin_.tls->fingerprint;
  if (!origin_.tls->fingerprint.empty() && (*other || (!result && !expected)))
    return fail(Errc::denied, origin_.url() + target, "shows another certificate than the one that is expected there",
                "is it the right controller, and has its certificate been renewed since?");
  if (!result) return {};
  const long verified = SSL_get_verify_result(session);
  const std::string why = verified == X509_V_OK ? result.message() : X509_verify_cert_error_string(verified);
  return fail(Errc::denied, origin_.url() + target, "TLS: " + why,
              "does its certificate name this host, and is it signed by an authority in " +
                  (origin_.tls->ca_file.empty() ? "the system's files" : origin_.tls->ca_file) + "?");
}

tl::unexpected<Error> Connection::failure(error_code error, const std::string& target) const {
  const std::string subject = origin_.url() + target;
  if (stopped_) return fail(Errc::unavailable, subject, "is no longer asked: stopped");
  if (error == beast::error::timeout) return fail(Errc::timeout, subject, "no answer in time");
  if (error == bhttp::error::body_limit || error == bhttp::error::header_limit)
    return fail(Errc::malformed, subject, "the answer is larger than the limit");
  if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message || error == net::error::eof ||
      error == ssl::error::stream_truncated)
    return fail(Errc::unavailable, subject, "the peer closed the connection before its answer");
  if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category())
    return fail(Errc::malformed, subject, "the answer is not HTTP: " + error.message());
  return fail(Errc::unavailable, subject, error.message(), "is it running, and is the port right?");
}

}  // namespace wattle::http
