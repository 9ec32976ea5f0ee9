// tls: server side of TLS: creates the context of new connections; private to this folder.
// Source   OpenSSL through Boost.Asio; TLS 1.2 and 1.3, no renegotiation, no tickets
// Errors   not_found, denied (a key that others may read), malformed (not PEM, no matching pair, expired)
// Threads  a TlsSource belongs to the acceptor's strand
#pragma once

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "common/clock.hpp"
#include "common/http/access.hpp"
#include "common/log.hpp"
#include "common/result.hpp"

namespace wattle::http {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

Result<TlsContext> load_tls(const TlsFiles& files, WallTime now);

// Holds the context of new connections and reloads it when the files change. Keeps the old context if reloading fails.
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

}  // namespace wattle::http
