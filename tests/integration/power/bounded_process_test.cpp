#include "controller/power/bounded_process.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <csignal>

#include "common/descriptor_limit.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"
#include "tests/integration/power/rigs.hpp"
#include "tests/patience.hpp"

using namespace wattle::controller::power;
using wattle::Errc;

namespace {

const wattle::SystemClock kProcessClock;

wattle::Result<ProgramEnd> run(const std::string& script, std::chrono::milliseconds limit = wattle::tests::soon(),
                               const std::string& input = "", std::optional<std::string> secret = {}) {
  return run_bounded({{"/bin/sh", "-c", script}, input, std::move(secret)}, TimeLeft(kProcessClock, limit));
}

// Returns whether a process has ended, or is a zombie that its parent has not waited for yet.
bool has_ended(const std::string& file) {
  return wattle::tests::wait_until([&] {
    const auto text = wattle::read_file(file);
    const auto pid = text ? wattle::parse::integer<int>(wattle::parse::trim(*text)) : std::nullopt;
    if (!pid) return false;
    const auto stat = wattle::read_file("/proc/" + std::to_string(*pid) + "/stat");
    return !stat || stat->find(") Z ") != std::string::npos || stat->find(") X ") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a program reads its input, and its outputs and status are kept apart") {
  const auto end = run("cat; echo cause >&2; exit 3", wattle::tests::soon(), "a request\n");
  REQUIRE(end);
  CHECK(end->code == 3);
  CHECK(end->output == "a request\n");
  CHECK(end->errors == "cause\n");
  CHECK(run("kill -TERM $$")->code == 128 + SIGTERM);
}

TEST_CASE("a program gets the default limit of open files, and this process keeps its own") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const std::uint64_t raised = wattle::raise_descriptor_limit();
  const auto end = run("ulimit -Sn; ulimit -Hn");
  rlimit after{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &after) == 0);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(end);
  CHECK(end->output == std::to_string(std::min<std::uint64_t>(raised, 1024)) + "\n" + std::to_string(raised) + "\n");
  CHECK(after.rlim_cur == raised);
}

TEST_CASE("a program and its children are killed at the time limit, and the error keeps its output") {
  const wattle::test::TempDir dir;
  const std::string pid = dir.file("pid");
  const std::string script =
      "echo waiting >&2; sleep 1000 & echo $! > " + pid + ".new; mv " + pid + ".new " + pid + "; wait";
  // On a loaded machine the limit may pass before the program's first line.
  auto limit = wattle::tests::moment();
  auto end = run(script, limit);
  while (!wattle::read_file(pid) && limit < wattle::tests::soon()) end = run(script, limit *= 2);
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Errc::timeout);
  CHECK(end.error().subject == "/bin/sh");
  CHECK(end.error().what.find("waiting") != std::string::npos);
  CHECK(has_ended(pid));
}

TEST_CASE("processes that a program leaves behind are killed and do not delay the call") {
  const wattle::test::TempDir dir;
  const auto end = run("sleep 1000 & echo $! > " + dir.file("pid") + "; echo done");
  REQUIRE(end);
  CHECK(end->output == "done\n");
  CHECK(has_ended(dir.file("pid")));
}

TEST_CASE("an endless output is truncated, and the program still runs to its end") {
  const auto end =
      run("head -c 3000000 /dev/zero | tr '\\0' a; head -c 3000000 /dev/zero | tr '\\0' b >&2; echo end >&2");
  REQUIRE(end);
  CHECK(end->code == 0);
  CHECK(end->output == std::string(64 << 10, 'a'));
  CHECK(end->errors.size() == 64 << 10);
  CHECK(end->errors.ends_with("bend\n"));
}

TEST_CASE("a program gets a secret as a file, and not in its arguments or environment") {
  const auto end = run("cat " + std::string(kSecretFile) + "; cat /proc/$$/cmdline /proc/$$/environ | tr '\\0' ' ' >&2",
                       wattle::tests::soon(), "", "s3cret-word");
  REQUIRE(end);
  CHECK(end->output == "s3cret-word");
  CHECK(end->errors.find("s3cret-word") == std::string::npos);
  CHECK(run("cat /dev/fd/3")->code != 0);
}

TEST_CASE("a program gets only the variables PATH, HOME and LANG of this process") {
  REQUIRE(::setenv("WATTLE_TEST_SECRET", "s3cret", 1) == 0);
  const auto end = run("env");
  ::unsetenv("WATTLE_TEST_SECRET");
  REQUIRE(end);
  CHECK(end->output.find("PATH=") != std::string::npos);
  CHECK(end->output.find("WATTLE_TEST_SECRET") == std::string::npos);
}

TEST_CASE("an error names a missing or non-executable program and the reason") {
  const wattle::test::TempDir dir;
  const TimeLeft time(kProcessClock, wattle::tests::soon());
  const auto missing = run_bounded({{dir.file("none")}}, time);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::not_found);
  CHECK(missing.error().subject == dir.file("none"));
  const auto text = run_bounded({{test::write_file(dir, "text", "words", 0644)}}, time);
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Errc::denied);
}
