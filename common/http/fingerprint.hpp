// fingerprint: SHA-256 of a certificate; private to this folder.
// Source   OpenSSL's X509
// Errors   empty if there is no certificate
// Threads  any
#pragma once

#include <openssl/types.h>

#include <string>

namespace wattle::http {

// Returns lower-case hexadecimal digits.
std::string fingerprint_of(const X509* certificate);

}  // namespace wattle::http
