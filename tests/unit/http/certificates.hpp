// certificates: an authority and certificates that it signs, made in the test, and a TLS client that shows one.
#pragma once

#include <doctest/doctest.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "common/dir.hpp"
#include "tests/unit/http/raw_socket.hpp"

namespace wattle::http::test {

template <auto Free>
struct Freeing {
  template <class T>
  void operator()(T* one) const {
    Free(one);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freeing<Free>>;
using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;

struct Signed {
  Key key;
  Certificate certificate;
};

// Valid from an hour ago for `valid_s`; signed by `by`, or self-signed.
inline Signed make_certificate(const std::string& name, const Signed* by, long valid_s = 3600) {
  Signed made{Key(EVP_EC_gen("P-256")), Certificate(X509_new())};
  X509* one = made.certificate.get();
  X509_set_version(one, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(one), by == nullptr ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(one), -3600);
  X509_gmtime_adj(X509_getm_notAfter(one), valid_s);
  X509_set_pubkey(one, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(one), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(one, X509_get_subject_name(by == nullptr ? one : by->certificate.get()));
  const Owned<X509_EXTENSION, X509_EXTENSION_free> basic(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, by == nullptr ? "critical,CA:TRUE" : "CA:FALSE"));
  X509_add_ext(one, basic.get(), -1);
  REQUIRE(X509_sign(one, by == nullptr ? made.key.get() : by->key.get(), EVP_sha256()) > 0);
  return made;
}

inline std::string drain(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

inline void write_certificate(const Signed& one, const std::string& path) {
  const Owned<BIO, BIO_free_all> bio(BIO_new(BIO_s_mem()));
  REQUIRE(PEM_write_bio_X509(bio.get(), one.certificate.get()) == 1);
  REQUIRE(write_file_atomically(path, drain(bio.get())));
}

inline void write_key(const Signed& one, const std::string& path, unsigned mode = 0400) {
  const Owned<BIO, BIO_free_all> bio(BIO_new(BIO_s_mem()));
  REQUIRE(PEM_write_bio_PrivateKey(bio.get(), one.key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  REQUIRE(write_file_atomically(path, drain(bio.get()), mode));
}

struct TlsAnswer {
  std::string text;    // empty: refused
  std::string server;  // CN of the server's certificate
};

// Trusts `authority`; shows `own` if given. Sends one request and reads to the end.
inline TlsAnswer ask_over_tls(std::uint16_t port, const std::string& request, const Signed& authority,
                              const Signed* own = nullptr) {
  const RawSocket socket(port);
  const Owned<SSL_CTX, SSL_CTX_free> context(SSL_CTX_new(TLS_client_method()));
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority.certificate.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (own != nullptr) {
    SSL_CTX_use_certificate(context.get(), own->certificate.get());
    SSL_CTX_use_PrivateKey(context.get(), own->key.get());
  }
  const Owned<SSL, SSL_free> ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), socket.fd());
  TlsAnswer answer;
  ERR_clear_error();
  // With TLS 1.3 a client learns only when it reads that its certificate was refused.
  if (SSL_connect(ssl.get()) != 1) {
    socket.read_to_end();
    return answer;
  }
  char name[64] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(ssl.get())), NID_commonName, name,
                            sizeof name);
  answer.server = name;
  if (SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())) <= 0) return answer;
  char buffer[4096];
  int count = 0;
  while ((count = SSL_read(ssl.get(), buffer, sizeof buffer)) > 0)
    answer.text.append(buffer, static_cast<std::size_t>(count));
  if (answer.text.empty()) socket.read_to_end();  // the server counts the refusal before it closes
  return answer;
}

}  // namespace wattle::http::test
