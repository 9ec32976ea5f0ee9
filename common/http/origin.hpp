// origin: where a client connects to, and what it demands of the peer there.
// Source   configuration
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wattle::http {

// Whom a client believes, and what it shows of itself. All files are PEM and are read at each new connection, so that
// renewed ones are taken without a restart. Only root and this process's user may be able to write ca_file, and to read key.
struct Trust {
  std::string ca_file;           // authorities of the peer's certificate; empty: those of the system
  std::string certificate, key;  // shown to a peer that asks; empty: none
  // SHA-256 of the peer's own certificate, in lower-case hexadecimal digits: that one is believed, whatever name it has, and no other
  std::string fingerprint = {};
};

struct Origin {
  std::string host;
  std::uint16_t port = 0;
  std::optional<Trust> tls;  // absent: plain HTTP

  // "https://host:port"
  std::string url() const;
};

}  // namespace wattle::http
