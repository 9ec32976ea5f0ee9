// hosts: the names under which a server may be asked, so that no site can point its own name at it and read answers (DNS rebinding).
// Source   RFC 9110, 7.2 (Host); names of a configuration's key `hosts`, and the machine's own name
// Accepts  addresses; `localhost` and names without a dot, which no public DNS has; a cluster's services (.svc, .svc.cluster.local); the
//          machine's name; each configured name, and all names below one that begins with a dot
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
  // Takes the value of a header "Host: name:port".
  bool admit(std::string_view host) const;

 private:
  std::vector<std::string> names_;  // in lower case; ".example.org": all below
};

// A name of the key `hosts`: a DNS name, perhaps with a dot in front; without a port.
bool is_host_name(std::string_view name);

}  // namespace wattle::http
