#include "common/http/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <array>
#include <ctime>

#include "common/http/pem_file.hpp"

namespace wattle::http {
namespace {

namespace ssl = boost::asio::ssl;
constexpr Duration kLookEvery = std::chrono::seconds(1);

std::string openssl_says() {
  std::array<char, 256> text{};
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "is not a PEM file of the right kind";
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

std::string fingerprint(const TlsFiles& files) {
  std::string all;
  for (const std::string* path : {&files.certificate, &files.key, &files.client_ca}) {
    struct stat info {};
    if (path->empty() || ::stat(path->c_str(), &info) != 0) continue;
    all += std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + "/" +
           std::to_string(info.st_size) + "/" + std::to_string(info.st_ino) + " ";
  }
  return all;
}

// Uses OpenSSL's native functions, because those of ssl::context throw.
Status fill(SSL_CTX* context, const TlsFiles& files, WallTime now) {
  WATTLE_CHECK(check_pem(files.certificate, PemUse::shown));
  WATTLE_CHECK(check_pem(files.key, PemUse::secret));
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
    return fail(Errc::malformed, files.certificate, openssl_says(),
                "set it to the PEM file of the server's certificate");
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return fail(Errc::malformed, files.key, openssl_says(),
                "set it to the PEM file of the key of " + files.certificate);
  if (SSL_CTX_check_private_key(context) != 1)
    return fail(Errc::malformed, files.key, openssl_says(), "check that it is the key of " + files.certificate);
  std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const X509* own = SSL_CTX_get0_certificate(context);
  if (X509_cmp_time(X509_get0_notAfter(own), &seconds) < 0)
    return fail(Errc::malformed, files.certificate, "has expired", "renew it");
  if (X509_cmp_time(X509_get0_notBefore(own), &seconds) > 0)
    return fail(Errc::malformed, files.certificate, "is not valid yet", "check the clock of this machine");
  if (files.client_ca.empty()) return {};
  WATTLE_CHECK(check_pem(files.client_ca, PemUse::authority));
  if (SSL_CTX_load_verify_locations(context, files.client_ca.c_str(), nullptr) != 1)
    return fail(Errc::malformed, files.client_ca, openssl_says(), "set it to the PEM file of the clients' CA");
  SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(files.client_ca.c_str()));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

}  // namespace

Result<TlsContext> load_tls(const TlsFiles& files, WallTime now) {
  TlsContext context;
  try {
    context = std::make_shared<ssl::context>(ssl::context::tls_server);
  } catch (const std::exception& error) {
    return fail(Errc::io, "TLS", error.what());
  }
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(
      native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A resumed session would not present the client's certificate again.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(native, 0);
  WATTLE_CHECK(fill(native, files, now));
  return context;
}

Result<TlsSource> TlsSource::open_(TlsFiles files) {
  std::string print = fingerprint(files);
  WATTLE_TRY(TlsContext context, load_tls(files, SystemClock().wall()));
  return TlsSource(std::move(files), std::move(context), std::move(print));
}

const TlsContext& TlsSource::current(const Log& log) {
  const MonoTime now = clock_.mono();
  if (now - looked_ < kLookEvery) return context_;
  looked_ = now;
  std::string print = fingerprint(files_);
  if (print == fingerprint_) return context_;
  auto context = load_tls(files_, clock_.wall());
  if (!context) {
    // Certificate and key are replaced one after the other; the next check finds both.
    log.warn("certificate.reload_failed", "the new certificate cannot be read; the old one stays in use",
             {{"error", context.error()}});
    fingerprint_ = print;
    return context_;
  }
  log.info("certificate.reloaded", "the certificate has been reloaded", {{"certificate", files_.certificate}});
  fingerprint_ = std::move(print);
  context_ = std::move(*context);
  return context_;
}

}  // namespace wattle::http
