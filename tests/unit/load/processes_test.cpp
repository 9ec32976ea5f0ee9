#include "load/processes.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/patience.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle::load;

namespace {

std::string word_of(const std::string& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

// The program of a group: the first process of a namespace has it as its child.
pid_t program_of(pid_t group) {
  pid_t found = -1;
  const auto sleeps = [&] {
    const std::string at = "/proc/" + std::to_string(group);
    const std::string child = word_of(at + "/task/" + std::to_string(group) + "/children");
    if (word_of(at + "/comm") == "sleep")
      found = group;
    else if (!child.empty() && word_of("/proc/" + child + "/comm") == "sleep")
      found = std::stoi(child);
    return found > 0;
  };
  REQUIRE(wattle::tests::wait_until(sleeps));
  return found;
}

}  // namespace

TEST_CASE("a program that ends while it is paused is detected, wherever it runs") {
  for (const Where where : {Where::with_us, Where::alone}) {
    const wattle::test::TempDir dir;
    const std::string folder = dir.file("ours");
    REQUIRE(mkdir(folder.c_str(), 0700) == 0);
    auto processes = Processes::open_(folder);
    REQUIRE(processes);
    const auto group = processes->start("/bin/sleep", {"1000"}, "said", where);
    REQUIRE(group);
    const pid_t program = program_of(*group);
    processes->pause(*group);
    CHECK_FALSE(processes->ended(*group));
    kill(program, SIGKILL);
    std::optional<int> code;
    REQUIRE(wattle::tests::wait_until([&] { return (code = processes->ended(*group)).has_value(); }));
    CHECK(*code == 128 + SIGKILL);
  }
}
