#include "controller/web/documents.hpp"

#include <doctest/doctest.h>

using namespace wattle;
using namespace wattle::controller;

TEST_CASE("an agent's finding is taken apart, whatever parentheses it holds") {
  const auto lost = parse_finding("cgroup: lost: not whole (raise the limit (LimitNOFILE, ulimit -n))");
  CHECK(lost.name == "cgroup");
  CHECK(lost.state == "lost");
  CHECK(lost.detail == "not whole");
  CHECK(lost.mend == "raise the limit (LimitNOFILE, ulimit -n)");
  const auto ok = parse_finding("energy: ok: estimated from utilisation (table)");
  CHECK(ok.state == "ok");
  CHECK(ok.detail == "estimated from utilisation (table)");
  CHECK(ok.mend.empty());
  const auto plain = parse_finding("rapl: lost: no zones");
  CHECK(plain.detail == "no zones");
  CHECK(plain.mend.empty());
  for (const char* odd : {"x: lost: )", "x: lost: a) b)", "x: lost: (only)", "x: lost:", "x", ""})
    CHECK_MESSAGE(parse_finding(odd).mend.empty(), odd);
}
