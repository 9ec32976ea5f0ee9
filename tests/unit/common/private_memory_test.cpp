#include "common/private_memory.hpp"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_CASE("a process that keeps its memory private leaves no core file and cannot be inspected") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    wattle::keep_memory_private();
    rlimit core{1, 1};
    const bool limited = ::getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0;
    ::_exit(limited && ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
