// access: access rules of an HTTP endpoint (TLS, client certificates, bearer token), and counts of refused requests.
// Source   PEM files; keys of a configuration section: tls {certificate, key}, insecure, and by the callers either
//          token_file and hosts, or tls.client_ca
// Errors   mistakes in the section
// Threads  values; RefusalCounts any
//
// An endpoint reachable from other machines needs TLS or a token, unless `insecure: true` states that something else
// protects it.
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
  std::string certificate;  // PEM, the chain that starts with the server's own; empty: plain HTTP
  std::string key;          // PEM; only its owner may read it
  std::string client_ca;    // PEM; clients must present a certificate signed by one of these; empty: any client
};

struct Access {
  TlsFiles tls;
  std::string token_file;          // contains one word; empty: no token needed
  std::vector<std::string> hosts;  // names in addition to those of hosts.hpp
  bool insecure = false;
};

// Accepts 127.0.0.0/8 and ::1.
bool is_loopback(std::string_view address);
enum class Callers {
  with_token,        // people and Prometheus: the token protects all reads and changes, so that it can replace TLS
  with_certificate,  // kube-scheduler, which sends no token
};
void read_access(config::Section& section, std::string_view address, Callers callers, Access& out);

enum class Refused : std::uint8_t {
  tls,        // handshake failed: no certificate, an expired or untrusted one, or no TLS
  token,      // missing or wrong
  malformed,  // not HTTP
  too_large,  // header or body
  too_slow,   // the request did not arrive in time
  too_many,   // connections, or bytes of bodies at once
  path,       // no such path, or wrong method
  foreign,    // a change that does not come from the page's own script
  host,       // Host is not one of the server's names
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
