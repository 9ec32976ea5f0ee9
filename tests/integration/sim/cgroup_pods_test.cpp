// Real cgroups and a real stress-ng; without root and a cgroup2 tree the cases are skipped with a message.
#include "sim/live/cgroup_pods.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "common/dir.hpp"
#include "common/parse.hpp"

using namespace wattle;
using namespace wattle::sim::live;

namespace {

std::optional<std::string> cgroup_root() {
  const auto mount = find_cgroup2_mount(Dir::open_("/proc/self")->read_file("mounts").value_or(""));
  if (mount && access(mount->c_str(), W_OK) == 0 && geteuid() == 0) return *mount;
  std::puts("skipped: real pods need root and a writable cgroup2 tree");
  return std::nullopt;
}

CgroupPods open_pods(const std::string& root) {
  CgroupPodsOptions options;
  options.cgroup_root = root;
  options.max_seconds = 60;
  auto pods = CgroupPods::open_(options);
  if (!pods) FAIL(pods.error().message());
  return std::move(*pods);
}

std::string pod_path(const std::string& root, std::string uid) {
  for (char& c : uid)
    if (c == '-') c = '_';
  return root + "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid + ".slice";
}

// Processes in the pod's only container.
std::size_t processes_in(const std::string& pod) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(pod)) {
    if (!entry.is_directory()) continue;
    CHECK(entry.path().filename().string().starts_with("cri-containerd-"));
    CHECK(entry.path().filename().string().size() == std::string("cri-containerd-.scope").size() + 64);
    const auto text = Dir::open_(entry.path())->read_file("cgroup.procs").value_or("");
    parse::for_each_line(text, [&](std::string_view) { ++count; });
  }
  return count;
}

}  // namespace

TEST_CASE("a pod's load runs in a cgroup with a kubelet's name, and its end removes everything") {
  const auto root = cgroup_root();
  if (!root) return;
  const bool had_kubepods = std::filesystem::exists(*root + "/kubepods.slice");
  const std::string uid = marked_pod_uid(1, getpid(), 1);
  {
    CgroupPods pods = open_pods(*root);
    REQUIRE(pods.start(uid, 5));
    REQUIRE(pods.start(uid, 5));  // again: the same pod
    CHECK(pods.size() == 1);
    CHECK(processes_in(pod_path(*root, uid)) >= 1);
    REQUIRE(pods.stop(uid));
    CHECK_FALSE(std::filesystem::exists(pod_path(*root, uid)));
    REQUIRE(pods.start(marked_pod_uid(1, getpid(), 2), 5));
  }
  CHECK_FALSE(std::filesystem::exists(pod_path(*root, marked_pod_uid(1, getpid(), 2))));
  CHECK(std::filesystem::exists(*root + "/kubepods.slice") == had_kubepods);
}

TEST_CASE("load beyond the bound and an unmarked UID are refused") {
  const auto root = cgroup_root();
  if (!root) return;
  CgroupPods pods = open_pods(*root);
  CHECK(pods.start("0f7c6a52-3c55-4c6f-9d0e-0b2a5f7a3c11", 5).error().code == Errc::malformed);
  CHECK(pods.start(marked_pod_uid(2, getpid(), 1), 41).error().code == Errc::exhausted);
  CHECK(pods.size() == 0);
}

TEST_CASE("cgroups of a killed process are swept, and those of a running one are kept") {
  const auto root = cgroup_root();
  if (!root) return;
  open_pods(*root).sweep();  // removes remains of an earlier run
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t maker = fork();
  if (maker == 0) {
    CgroupPodsOptions options;
    options.cgroup_root = *root;
    auto pods = CgroupPods::open_(options);
    const bool started = pods && pods->start(marked_pod_uid(3, getpid(), 1), 5);
    if (write(ready[1], started ? "y" : "n", 1) != 1) _exit(1);
    while (true) pause();
  }
  char answer = 0;
  REQUIRE(read(ready[0], &answer, 1) == 1);
  REQUIRE(answer == 'y');
  const std::string uid = marked_pod_uid(3, maker, 1);
  kill(maker, SIGKILL);
  waitpid(maker, nullptr, 0);
  REQUIRE(std::filesystem::exists(pod_path(*root, uid)));

  CgroupPods pods = open_pods(*root);
  const std::string mine = marked_pod_uid(3, getpid(), 2);
  REQUIRE(pods.start(mine, 5));
  CHECK(pods.sweep() == 1);
  CHECK_FALSE(std::filesystem::exists(pod_path(*root, uid)));
  CHECK(std::filesystem::exists(pod_path(*root, mine)));
}

TEST_CASE("without cgroup2 or the program the error names what is missing") {
  CgroupPodsOptions options;
  options.cgroup_root = "/proc";
  CHECK(CgroupPods::open_(options).error().message().find("/proc") != std::string::npos);
  options.program = "no-such-program";
  CHECK(CgroupPods::open_(options).error().message().find("no-such-program") != std::string::npos);
}
