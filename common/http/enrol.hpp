// enrol: asks a controller to allow this machine's public key.
// Source   docs/reference/api.md, "Enrolment"
// Errors   denied and conflict (the controller refuses, with its reason), malformed (the peer is not a controller), the
//          client's errors
// Threads  same as the client
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/http/client.hpp"

namespace wattle::http {

struct Enrolled {
  std::string node;                      // node name that the controller assigned
  std::vector<std::string> server_keys;  // the controller's public key and, during a rotation, the next one
  std::int64_t valid_s = 0;              // how long a reader's key is admitted; 0: it is on the allow list
};

// Sends the token that the client has set as bearer. `node` is the wanted name if the token leaves it open; empty: not
// sent.
Result<Enrolled> enrol(Client& client, const std::string& url, const std::string& path, const std::string& public_key,
                       const std::string& node);

}  // namespace wattle::http
