#include "common/result.hpp"

#include <doctest/doctest.h>

#include <cerrno>

#include "common/sample.hpp"
#include "common/wire/messages.hpp"

using namespace wattle;

namespace {
Result<int> half(int n) {
  if (n % 2 != 0) return fail(Errc::malformed, "n", "is odd", "double it");
  return n / 2;
}

Result<std::string> quarter(int n) {
  WATTLE_TRY(const int once, half(n));
  WATTLE_TRY(const int twice, half(once));
  return std::to_string(twice);
}

Status both(int a, int b) {
  WATTLE_CHECK(half(a));
  WATTLE_CHECK(half(b));
  return {};
}
}  // namespace

TEST_CASE("an error is printed as kind, subject, what and fix") {
  CHECK(Error{Errc::denied, "/a/b", "Permission denied", "grant it"}.message() ==
        "denied: /a/b: Permission denied (grant it)");
  CHECK(Error{Errc::timeout, "peer", "no answer", ""}.message() == "timed out: peer: no answer");
}

TEST_CASE("the first error is returned, and the rest is not executed") {
  CHECK(quarter(8).value() == "2");
  CHECK(quarter(6).error().what == "is odd");
  CHECK(quarter(6).error().fix == "double it");
  CHECK(both(2, 4));
  CHECK(both(2, 3).error().code == Errc::malformed);
}

TEST_CASE("errno gives the kind of error") {
  const auto code = [](int number) {
    const Status status = fail_errno(number, "x");
    return status.error().code;
  };
  CHECK(code(ENOENT) == Errc::not_found);
  CHECK(code(ENODEV) == Errc::not_found);
  CHECK(code(EACCES) == Errc::denied);
  CHECK(code(EPERM) == Errc::denied);
  CHECK(code(EOPNOTSUPP) == Errc::unsupported);
  CHECK(code(EIO) == Errc::io);
}

TEST_CASE("a value outside its enum, as from a damaged file, has the name unknown") {
  CHECK(to_string(static_cast<Errc>(77)) == "unknown");
  CHECK(to_string(static_cast<EnergySource>(6)) == "unknown");
  CHECK(to_string(static_cast<WorkloadKind>(255)) == "unknown");
  CHECK(to_string(static_cast<ProbeKind>(3)) == "unknown");
  CHECK(wire::to_string(static_cast<wire::Kind>(0)) == "unknown");
  CHECK(wire::to_string(wire::Kind::hello) == "hello");
  CHECK(wire::to_string(wire::Kind::goodbye) == "goodbye");
  CHECK(to_string(EnergySource::estimated) == "estimated");
}
