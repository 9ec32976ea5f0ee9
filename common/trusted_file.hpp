// trusted_file: checks of owner and mode for every file that decides who may do something, or that holds a secret.
// Source   struct stat of the file that is open, so that the checked file is the one that is read
// Errors   denied: names the file, the reason and the fix
// Threads  pure; check_authority(path) reads the file system
#pragma once

#include <sys/stat.h>

#include <string>

#include "common/result.hpp"

namespace wattle {

// A file whose text grants access: an allow list or enrolment tokens. Only root and this process's user may change it.
Status check_authority(const std::string& path, const struct stat& info);
// The same by name. A file that does not exist passes.
Status check_authority(const std::string& path);

// The same for a file that names a peer to believe. A process of root accepts any owner: it also runs commands on folders of users.
Status check_trust_anchor(const std::string& path, const struct stat& info);

// A file with a secret key or token. Only its owner may read it; the owner is root or this process's user. Root reads every service's
// secrets, so a process of root accepts any owner.
Status check_secret(const std::string& path, const struct stat& info);

}  // namespace wattle
