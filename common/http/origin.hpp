// origin: where a client connects to, and what it demands of the peer there.
// Source   configuration
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wattle::http {

// Whom a client believes, and what it shows of itself. All files are PEM and are read at each new connection, so that
// renewed ones are taken without a restart.
struct Trust {
  std::string ca_file;           // authorities of the peer's certificate; empty: those of the system
  std::string certificate, key;  // shown to a peer that asks; empty: none
  // SHA-256 of the peer's own certificate, in lower-case hexadecimal digits: that one is believed, whatever name it has, and no other
  std::string fingerprint = {};
  std::string server_name =
      {};  // that the peer's certificate must have, and is asked for (SNI); empty: the origin's host
};

// A proxy that opens a tunnel: by CONNECT (RFC 9110), or SOCKS 5 (RFC 1928, 1929), which resolves the origin's name itself.
struct Proxy {
  enum class Kind { http, socks5 };
  Kind kind = Kind::http;
  std::string host;
  std::uint16_t port = 0;
  std::string user, password;  // empty: it wants none
};

struct Origin {
  std::string host;
  std::uint16_t port = 0;
  std::optional<Trust> tls;         // absent: plain HTTP
  std::optional<Proxy> proxy = {};  // absent: the host is connected to directly

  // "https://host:port"
  std::string url() const;
};

}  // namespace wattle::http
