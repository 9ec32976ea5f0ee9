// result: return type of a function that depends on its environment and may fail.
// Gives    Result<T> (a tl::expected) and Status; Error names the file, endpoint, key or peer, and the fix
// Errors   our own bugs are asserts, never an Error
// Threads  values; no shared state
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace wattle {

enum class Errc {
  not_found,     // no such file, node, pod, key
  denied,        // permission, key or role refused
  malformed,     // exists, but has the wrong form
  out_of_range,  // well formed, but beyond a limit
  unavailable,   // no peer answers, or the peer is gone
  timeout,       // did not answer in time
  unsupported,   // this kernel, peer or build cannot
  conflict,      // two claims to one resource
  exhausted,     // a limit is reached
  io,            // the operating system refused
};

std::string_view to_string(Errc code);

struct Error {
  Errc code = Errc::io;
  std::string subject;  // file, endpoint, key, peer
  std::string what;     // the fault
  std::string fix;      // how to fix it; may be empty

  // "denied: /sys/class/powercap/intel-rapl:0/energy_uj: Permission denied (grant CAP_DAC_READ_SEARCH)"
  std::string message() const;
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

inline tl::unexpected<Error> fail(Errc code, std::string subject, std::string what, std::string fix = {}) {
  return tl::unexpected<Error>(Error{code, std::move(subject), std::move(what), std::move(fix)});
}

// Returns the error for an errno with the code that matches it (result.cpp), or io if none does.
tl::unexpected<Error> fail_errno(int error_number, std::string subject, std::string fix = {});

template <class T>
tl::unexpected<Error> forward_error(Result<T>& result) {
  return tl::unexpected<Error>(std::move(result.error()));
}

}  // namespace wattle

#define WATTLE_CONCAT_(a, b) a##b
#define WATTLE_CONCAT(a, b) WATTLE_CONCAT_(a, b)
// WATTLE_TRY(auto file, dir.open_file("stat")): declares file, or returns the error from the enclosing function.
#define WATTLE_TRY_(temporary, declaration, expression)      \
  auto temporary = (expression);                             \
  if (!temporary) return ::wattle::forward_error(temporary); \
  declaration = std::move(*temporary)
#define WATTLE_TRY(declaration, expression) WATTLE_TRY_(WATTLE_CONCAT(wattle_try_, __LINE__), declaration, expression)
// WATTLE_CHECK(do_it()): returns the error of a Status from the enclosing function.
#define WATTLE_CHECK_(temporary, expression) \
  if (auto temporary = (expression); !temporary) return ::wattle::forward_error(temporary)
#define WATTLE_CHECK(expression) WATTLE_CHECK_(WATTLE_CONCAT(wattle_check_, __LINE__), expression)
