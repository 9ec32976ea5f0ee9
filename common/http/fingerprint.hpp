// fingerprint: what names one certificate; private to this folder.
// Source   OpenSSL's X509
// Errors   empty: no certificate
// Threads  any
#pragma once

#include <openssl/types.h>

#include <string>

namespace wattle::http {

// SHA-256 in lower-case hexadecimal digits.
std::string fingerprint_of(const X509* certificate);

}  // namespace wattle::http
