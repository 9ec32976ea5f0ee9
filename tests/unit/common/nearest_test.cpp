#include "common/nearest.hpp"

#include <doctest/doctest.h>

#include "common/error_line.hpp"

using namespace wattle;

namespace {
const std::vector<std::string> kNames{"nodes", "node", "pods", "decisions", "worker-1", "worker-2"};
}  // namespace

TEST_CASE("a mistyped name finds the closest known one") {
  CHECK(nearest("ndoes", kNames) == "nodes");  // two letters swapped
  CHECK(nearest("nods", kNames) == "nodes");   // the first of several at the same distance
  CHECK(nearest("decisons", kNames) == "decisions");
  CHECK(nearest("Worker-2", kNames) == "worker-2");
  CHECK(nearest("dec", kNames) == "decisions");  // a prefix of a name
}

TEST_CASE("a word without resemblance finds no name") {
  CHECK_FALSE(nearest("clouds", kNames));
  CHECK_FALSE(nearest("", kNames));
  CHECK_FALSE(nearest("x", {"y"}));
  CHECK_FALSE(nearest(std::string(1000, 'n'), kNames));
}

TEST_CASE("a suggestion precedes the fix") {
  CHECK(did_you_mean("pod", kNames, "list them") == "did you mean \"pods\"? list them");
  CHECK(did_you_mean("pod", kNames) == "did you mean \"pods\"?");
  CHECK(did_you_mean("clouds", kNames, "list them") == "list them");
}

TEST_CASE("an error line names program, command, cause and fix, and is safe for a terminal") {
  const Error error{Errc::malformed, "--limit", "0 is out of range", "use 1 to 9"};
  CHECK(error_line("wattle", "nodes", error) == "wattle: nodes: --limit: 0 is out of range (use 1 to 9)");
  CHECK(error_line("wattle-agent", "", error) == "wattle-agent: --limit: 0 is out of range (use 1 to 9)");
  CHECK(error_line("wattle", "", {Errc::malformed, "a command is missing", "", ""}) == "wattle: a command is missing");
  CHECK(error_line("wattle", "", {Errc::io, "\x1b[2J", "bad", ""}) == "wattle: ?[2J: bad");
  const Error named{Errc::timeout, "tcp://a:1", "no answer from tcp://a:1", ""};
  CHECK(error_line("wattle", "nodes", named) == "wattle: nodes: no answer from tcp://a:1");
}
