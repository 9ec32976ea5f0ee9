#include "common/http/access.hpp"

#include <arpa/inet.h>

#include "common/http/hosts.hpp"

namespace wattle::http {

bool is_loopback(std::string_view address) {
  in_addr bytes{};
  return address == "::1" ||
         (address.starts_with("127.") && ::inet_pton(AF_INET, std::string(address).c_str(), &bytes) == 1);
}

void read_access(config::Section& section, std::string_view address, Callers callers, Access& out) {
  const bool token = callers == Callers::with_token;
  config::Section tls = section.section("tls");
  tls.read("certificate", out.tls.certificate);
  tls.read("key", out.tls.key);
  if (token) {
    section.read("token_file", out.token_file);
    section.read("hosts", out.hosts);
  } else {
    tls.read("client_ca", out.tls.client_ca);
  }
  for (const std::string& name : out.hosts)
    if (!is_host_name(name))
      section.mistake("hosts", "'" + name + "' is not a DNS name",
                      "use a name without port, or .example.org for all its subdomains");
  section.read("insecure", out.insecure);
  const bool secure = !out.tls.certificate.empty();
  if (secure && out.tls.key.empty())
    tls.mistake("key", "the certificate has no key", "set it to the PEM file of the key");
  if (!secure && !(out.tls.key.empty() && out.tls.client_ca.empty()))
    tls.mistake("certificate", "is missing", "set it to the PEM file of the server's certificate");
  if (is_loopback(address) || out.insecure || secure || !out.token_file.empty()) return;
  section.mistake("address", "'" + std::string(address) + "' is reachable from other machines without authentication",
                  std::string("use 127.0.0.1, set tls") + (token ? " or token_file" : "") +
                      ", or set insecure: true if the network restricts access");
}

}  // namespace wattle::http
