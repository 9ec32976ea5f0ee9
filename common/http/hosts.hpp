// hosts: the names under which a request may address the server. Refusing others stops DNS rebinding, where a site
// points its own name at the server to read its answers.
// Source   RFC 9110, 7.2 (Host); the configuration key `hosts`, and the machine's own name
// Accepts  addresses; `localhost` and names without a dot, which public DNS does not have; cluster services (.svc,
//          .svc.cluster.local); the machine's name; each configured name, and all names below one that begins with a
//          dot
// Errors   none
// Threads  pure
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wattle::http {

class Hosts {
 public:
  Hosts(std::vector<std::string> configured, std::string_view machine);
  // Checks the value of a Host header, "name:port".
  bool admit(std::string_view host) const;

 private:
  std::vector<std::string> names_;  // lower case; ".example.org" accepts all names below it
};

// Checks a name of the key `hosts`: a DNS name, optionally with a leading dot, without a port.
bool is_host_name(std::string_view name);

}  // namespace wattle::http
