#include "common/result.hpp"

#include <cerrno>
#include <system_error>

#include "common/enum_name.hpp"

namespace wattle {

std::string_view to_string(Errc code) {
  constexpr std::string_view kNames[] = {"not found", "denied",      "malformed", "out of range", "unavailable",
                                         "timed out", "unsupported", "conflict",  "exhausted",    "input/output error"};
  return enum_name(kNames, code);
}

std::string Error::message() const {
  std::string text(to_string(code));
  text += ": " + subject + ": " + what;
  if (!fix.empty()) text += " (" + fix + ")";
  return text;
}

namespace {
Errc code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENODEV:
    case ENOTDIR:
    case ESRCH:
      return Errc::not_found;
    case EACCES:
    case EPERM:
      return Errc::denied;
    case EOPNOTSUPP:
    case ENOSYS:
      return Errc::unsupported;
    case ETIMEDOUT:
      return Errc::timeout;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return Errc::unavailable;
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return Errc::exhausted;
    case EEXIST:
    case EADDRINUSE:
      return Errc::conflict;
    default:
      return Errc::io;
  }
}
}  // namespace

tl::unexpected<Error> fail_errno(int error_number, std::string subject, std::string fix) {
  return fail(code_of(error_number), std::move(subject), std::generic_category().message(error_number), std::move(fix));
}

}  // namespace wattle
