// origin: address of a server, and the client's requirements for it.
// Source   configuration
// Threads  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wattle::http {

// Trust of a client and its own identity. All files are PEM and are read for each new connection, so that renewed files
// are used without a restart. Only root and this process's user may be able to write ca_file and to read key.
struct Trust {
  std::string ca_file;           // authorities of the peer's certificate; empty: the system's
  std::string certificate, key;  // presented to a peer that requests it; empty: none
  // SHA-256 of the peer's certificate in lower-case hexadecimal digits: trusts exactly that one, regardless of its
  // name.
  std::string fingerprint = {};
  std::string server_name =
      {};  // name that the peer's certificate must have, also sent as SNI; empty: the origin's host
};

struct Origin {
  std::string host;
  std::uint16_t port = 0;
  std::optional<Trust> tls;  // unset: plain HTTP

  // "https://host:port"
  std::string url() const;
};

}  // namespace wattle::http
