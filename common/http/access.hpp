// access: who may use an HTTP endpoint: TLS, clients' certificates, a bearer token; and what was refused.
// Source   PEM files; keys of a configuration's section: tls {certificate, key, client_ca}, token_file, hosts, insecure
// Errors   mistakes of the section
// Threads  values; RefusalCounts any
//
// An endpoint that others can reach and that has neither TLS nor a token is a mistake, unless `insecure: true` says that
// something else keeps strangers out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/config.hpp"

namespace wattle::http {

struct TlsFiles {
  std::string certificate;  // PEM, the chain from the server's own on; empty: plain HTTP
  std::string key;          // PEM, which its owner alone may read
  std::string client_ca;    // PEM; clients must show a certificate that one of these signed; empty: any client
};

struct Access {
  TlsFiles tls;
  std::string token_file;          // one word; empty: none is asked for
  std::vector<std::string> hosts;  // names beside those of hosts.hpp
  bool insecure = false;
};

// Both names of a loopback address, and all of 127.0.0.0/8.
bool is_loopback(std::string_view address);
// `token_guards_all`: the token guards everything that the endpoint tells or does, so that it may stand in for TLS.
void read_access(config::Section& section, std::string_view address, bool token_guards_all, Access& out);

enum class Refused : std::uint8_t {
  tls,        // the handshake failed: no certificate, an expired or foreign one, or no TLS at all
  token,      // none, or a wrong one
  malformed,  // no HTTP
  too_large,  // header or body
  too_slow,   // the request did not arrive in time
  too_many,   // connections, or bytes of bodies at once
  path,       // nothing is there, or not for this method
  foreign,    // a change that does not come from the page's own script
  host,       // asked under a name that is not the server's
};
inline constexpr std::array<std::string_view, 9> kRefusedNames{
    "tls", "token", "malformed", "too_large", "too_slow", "too_many", "path", "foreign", "host"};

class RefusalCounts {
 public:
  void add(Refused why) { counts_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t get(Refused why) const {
    return counts_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kRefusedNames.size()> counts_{};
};

}  // namespace wattle::http
