// pem_file: checks a PEM file before OpenSSL reads it: a regular file, whose owner and mode suit its use.
// Source   stat() of the path
// Errors   not_found, denied and malformed, each with the path and a fix
// Threads  any
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"

namespace wattle::http {

enum class PemUse : std::uint8_t {
  shown,      // a certificate that peers see
  secret,     // a private key
  authority,  // certificates that a peer's is checked against
};

Status check_pem(const std::string& path, PemUse use);

}  // namespace wattle::http
