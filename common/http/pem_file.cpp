#include "common/http/pem_file.hpp"

#include <sys/stat.h>

#include <cerrno>

#include "common/dir.hpp"
#include "common/trusted_file.hpp"

namespace wattle::http {

Status check_pem(const std::string& path, PemUse use) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail_errno(errno, path, "set it to a PEM file");
  if (!S_ISREG(info.st_mode)) return fail(Errc::malformed, path, "is not a file", "set it to a PEM file");
  if (use == PemUse::secret) {
    WATTLE_CHECK(check_secret(path, info));
    WATTLE_TRY(const std::string text, read_file(path));
    for (const char* mark : {"BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"})
      if (text.find(mark) != std::string::npos)  // OpenSSL would ask for the passphrase on the terminal
        return fail(Errc::malformed, path, "is encrypted with a passphrase",
                    "decrypt it: openssl pkey -in " + path + " -out NEW");
  }
  if (use == PemUse::authority) return check_trust_anchor(path, info);
  return {};
}

}  // namespace wattle::http
