// enrol: the request by which a machine has its public key allowed by a controller.
// Source   docs/reference/api.md, "Enrolment"
// Errors   denied and conflict (the controller refuses, with its reason), malformed (no controller answers there), those of the client
// Threads  as its client
#pragma once

#include <string>
#include <vector>

#include "common/http/client.hpp"

namespace wattle::http {

struct Enrolled {
  std::string node;                      // whom the controller takes us for
  std::vector<std::string> server_keys;  // its present public key and, while it is rotated, the next
};

// The client shows the token. `node` counts where the token leaves the name open; empty: it is not told.
Result<Enrolled> enrol(Client& client, const std::string& url, const std::string& path, const std::string& public_key,
                       const std::string& node);

}  // namespace wattle::http
