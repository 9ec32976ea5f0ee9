#include "common/http/certificate.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <ctime>
#include <memory>

#include "common/dir.hpp"
#include "common/http/fingerprint.hpp"

namespace wattle::http {
namespace {

template <auto Free>
struct Freeing {
  template <class T>
  void operator()(T* one) const {
    Free(one);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freeing<Free>>;

constexpr std::size_t kMostPemBytes = 1 << 20;

bool extend(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool number_and_name(X509* certificate, const std::string& name) {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  X509_NAME* subject = X509_get_subject_name(certificate);
  // A common name has at most 64 characters; clients check the alternative names.
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1U | 1U) == 1 &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.substr(0, 64).c_str()), -1, -1,
                                    0) == 1 &&
         X509_set_issuer_name(certificate, subject) == 1;
}

bool lasts(X509* certificate, WallTime now, std::chrono::hours valid) {
  const auto now_s = static_cast<time_t>(to_ns(now) / 1'000'000'000);
  const auto valid_s = static_cast<time_t>(std::chrono::seconds(valid).count());
  return ASN1_TIME_set(X509_getm_notBefore(certificate), now_s - 86'400) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), now_s + valid_s) != nullptr;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

Result<Certificate> self_signed(const std::vector<std::string>& names, WallTime now, std::chrono::hours valid) {
  assert(!names.empty());
  std::string alternatives;
  for (const std::string& name : names) alternatives += (alternatives.empty() ? "DNS:" : ",DNS:") + name;
  const Owned<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
  const Owned<X509, X509_free> made(X509_new());
  const Owned<BIO, BIO_free_all> public_text(BIO_new(BIO_s_mem())), secret_text(BIO_new(BIO_s_mem()));
  const bool fine =
      key && made && public_text && secret_text && X509_set_version(made.get(), 2) == 1 &&
      number_and_name(made.get(), names.front()) && lasts(made.get(), now, valid) &&
      X509_set_pubkey(made.get(), key.get()) == 1 &&
      extend(made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      extend(made.get(), NID_key_usage, "critical,digitalSignature,keyCertSign") &&
      extend(made.get(), NID_ext_key_usage, "serverAuth") && extend(made.get(), NID_subject_alt_name, alternatives) &&
      X509_sign(made.get(), key.get(), EVP_sha256()) > 0 && PEM_write_bio_X509(public_text.get(), made.get()) == 1 &&
      PEM_write_bio_PKCS8PrivateKey(secret_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1;
  if (!fine)
    return fail(Errc::io, "certificate for " + names.front(), "cannot be created", "check that these are DNS names");
  return Certificate{text_of(public_text.get()), text_of(secret_text.get())};
}

Result<WallTime> certificates_end(std::string_view pem, const std::string& subject) {
  const Owned<BIO, BIO_free_all> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::optional<WallTime> first;
  while (const Owned<X509, X509_free> one{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    std::tm end{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(one.get()), &end) != 1) continue;
    const WallTime at = wall_from_ns(0) + std::chrono::seconds(::timegm(&end));
    first = std::min(first.value_or(at), at);
  }
  ERR_clear_error();  // the failed read at the end leaves an error
  if (!first) return fail(Errc::malformed, subject, "contains no certificate", "use a PEM file");
  return *first;
}

Result<WallTime> certificate_file_end(const std::string& path) {
  WATTLE_TRY(const std::string pem, read_file(path, kMostPemBytes));
  return certificates_end(pem, path);
}

std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (certificate == nullptr || X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4U];
    text += "0123456789abcdef"[digest[i] & 15U];
  }
  return text;
}

Result<std::string> certificate_file_fingerprint(const std::string& path) {
  WATTLE_TRY(const std::string pem, read_file(path, kMostPemBytes));
  const Owned<BIO, BIO_free_all> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Owned<X509, X509_free> first(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!first) return fail(Errc::malformed, path, "contains no certificate", "use a PEM file");
  return fingerprint_of(first.get());
}

std::optional<std::string> ends_soon(WallTime end, WallTime now) {
  const auto left = end - now;
  if (left > kEndsSoon) return std::nullopt;
  const auto days = std::chrono::duration_cast<std::chrono::hours>(left < Duration(0) ? -left : left).count() / 24;
  const std::string span = days == 0 ? "less than a day" : std::to_string(days) + (days == 1 ? " day" : " days");
  return left < Duration(0) ? "expired " + span + " ago" : "expires in " + span;
}

}  // namespace wattle::http
