// trusted_file: checks owner and mode of files that grant access or hold a secret.
// Source   struct stat of the open file, so that the checked file is the one that is read
// Errors   denied: names the file, the reason and the fix
// Threads  pure; check_authority(path) reads the file system
#pragma once

#include <sys/stat.h>

#include <string>

#include "common/result.hpp"

namespace wattle {

// Checks a file that grants access, such as an allow list or enrolment tokens. Only root and this process's user may
// change it.
Status check_authority(const std::string& path, const struct stat& info);
// Checks a file by name. Passes if the file does not exist.
Status check_authority(const std::string& path);

// Checks a file that names a trusted peer. A process that runs as root accepts any owner, because it also runs commands
// on users' folders.
Status check_trust_anchor(const std::string& path, const struct stat& info);

// Checks a file with a secret key or token. Only its owner may read it; the owner is root or this process's user. A
// process that runs as root accepts any owner, because root reads the secrets of every service. A process of another
// user also accepts a file of root that one of its groups may read, because kubelets mount Secrets that way.
Status check_secret(const std::string& path, const struct stat& info);

}  // namespace wattle
