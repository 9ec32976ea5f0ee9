// credentials: user name and password of a BMC, from a file.
// Source   a file of two lines, the user name and then the password; only its owner may read it. Drivers read it for
//          each call, so that a renewed password is used without a restart
// Errors   not_found, denied (group or others may read it), malformed (not two lines), io; each names the file, and
//          none contains its content
// Threads  any
#pragma once

#include <string>

#include "common/result.hpp"

namespace wattle::controller::power {

struct Credentials {
  std::string user;
  std::string password;  // a secret
};

Result<Credentials> read_credentials(const std::string& path);

}  // namespace wattle::controller::power
