// program_metrics: what each program reports about its own process.
#include "common/program_metrics.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "common/boot_time.hpp"
#include "common/version.hpp"
#include "tests/unit/common/temp_dir.hpp"

using namespace wattle;

namespace {
bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}
}  // namespace

TEST_CASE("a process is read from its own folder of procfs, whatever its name") {
  const wattle::test::TempDir proc;
  REQUIRE(make_dirs(proc.file("self/fd")));
  for (const std::string fd : {"0", "1", "7"}) REQUIRE(write_file_atomically(proc.file("self/fd/" + fd), ""));
  REQUIRE(write_file_atomically(proc.file("self/stat"),
                                "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 3000 104857600 2560 "
                                "18446744073709551615 1 1\n"));
  REQUIRE(write_file_atomically(proc.file("self/limits"),
                                "Limit                     Soft Limit           Hard Limit           Units     \n"
                                "Max open files            1024                 524288               files     \n"
                                "Max address space         unlimited            unlimited            bytes     \n"));
  const ProcessFigures found = read_process(Dir::open_(proc.path()).value(), 1e9);
  const double per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  CHECK(found.cpu_s.value() == doctest::Approx(300 / per_s));
  CHECK(found.start_wall_s.value() == doctest::Approx(1e9 + 3000 / per_s));
  CHECK(found.resident_bytes == 2560 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  CHECK(found.open_fds == 3);
  CHECK(found.max_fds == 1024);
  const std::string text = program_metrics("test", found);
  CHECK(text.find("\nwattle_build_info{program=\"test\",version=\"" + std::string(kVersion) + "\",compiler=\"") !=
        std::string::npos);
  CHECK(has(text, "# TYPE process_cpu_seconds_total counter"));
  CHECK(has(text, "process_open_fds 3"));
  CHECK(has(text, "process_max_fds 1024"));
}

TEST_CASE("unreadable values of a process are omitted") {
  const wattle::test::TempDir proc;
  const std::string text = program_metrics("test", read_process(Dir::open_(proc.path()).value(), 1e9));
  CHECK(text.find("wattle_build_info") != std::string::npos);
  CHECK(text.find("process_") == std::string::npos);
}

TEST_CASE("this process has a start time, memory and descriptors") {
  const ProcessFigures found = read_process(Dir::open_("/proc").value(), boot_wall_s());
  CHECK(found.start_wall_s.value() > boot_wall_s());
  CHECK(found.resident_bytes.value() > 0);
  CHECK(found.open_fds.value() > 2);
}
