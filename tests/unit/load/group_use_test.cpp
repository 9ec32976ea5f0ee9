// group_use: usage of a process group from a tree of /proc, without ended and foreign processes.
#include "load/group_use.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace wattle;
using namespace wattle::load;

namespace {
// Fields of proc(5): state, ppid, pgrp, ..., utime, stime, cutime, cstime, ..., rss.
std::string stat_line(const std::string& name, char state, int group, int user, int system, int children, int pages) {
  return "7 (" + name + ") " + state + " 1 " + std::to_string(group) + " 1 0 -1 4194304 9 0 1 0 " +
         std::to_string(user) + " " + std::to_string(system) + " " + std::to_string(children) + " 0 20 0 1 0 99 4096 " +
         std::to_string(pages) + " 18446744073709551615\n";
}

struct Tree {
  Tree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wattle-proc-XXXXXX").string();
    root = mkdtemp(pattern.data());
  }
  ~Tree() { std::filesystem::remove_all(root); }
  void put(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  std::filesystem::path root;
};
}  // namespace

TEST_CASE("a stat line is parsed after a name with blanks and brackets") {
  const auto stat = parse_stat(stat_line("a ) b (", 'R', 42, 5, 6, 7, 8));
  REQUIRE(stat);
  CHECK(stat->group == 42);
  CHECK(stat->ticks == 18);
  CHECK(stat->resident_pages == 8);
  CHECK(stat->state == 'R');
}

TEST_CASE("any text is a stat line or refused") {
  CHECK(rc::check([](const std::string& text) {
    (void)parse_stat(text);
    (void)parse_stat("1 (a) " + text);
    (void)parse_received(text, "lo");
  }));
  for (const char* bad : {"", "1 (a", "1 (a) R 1 2", "1 (a) R 1 x 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 1 1"})
    CHECK_FALSE(parse_stat(bad));
}

TEST_CASE("a group's processes are summed, without zombies and others") {
  const Tree tree;
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK)),
               page = static_cast<double>(sysconf(_SC_PAGESIZE));
  tree.put("10/stat", stat_line("stress-ng", 'S', 10, 1, 2, 3, 100));
  tree.put("11/stat", stat_line("stress-ng-cpu", 'R', 10, 50, 0, 0, 40));
  tree.put("12/stat", stat_line("gone", 'Z', 10, 500, 0, 0, 0));
  tree.put("13/stat", stat_line("other", 'R', 13, 900, 0, 0, 900));
  tree.put("10/io", "rchar: 5\nwchar: 7\nwrite_bytes: 0\n");
  tree.put("11/io", "rchar: 5\nwchar: 100\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n");
  tree.put("self/stat", "no process\n");
  const auto proc = Dir::open_(tree.root.string());
  REQUIRE(proc);
  const auto use = read_group(*proc, 10);
  REQUIRE(use);
  CHECK(use->pids == std::vector<pid_t>{10, 11});
  CHECK(use->cpu_s == doctest::Approx(56 * tick_s));
  CHECK(use->resident_bytes == doctest::Approx(100 * page));
  CHECK(read_cpu_s(*proc, {11, 99}) == doctest::Approx(50 * tick_s));
  const auto written = read_written(*proc, {10, 11, 99});
  REQUIRE(written);
  CHECK(written->bytes == 107);
  CHECK(written->storage_bytes == 4096);
  const auto none = read_group(*proc, 77);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::not_found);
}

TEST_CASE("the loopback interface's received bytes are found by name") {
  const std::string text = "Inter-|   Receive |\n face |bytes packets\n  lo: 123456   7 0 0\neth0:99 1 0\n";
  CHECK(parse_received(text, "lo") == 123456);
  CHECK(parse_received(text, "eth0") == 99);
  CHECK_FALSE(parse_received(text, "eth1"));
}
