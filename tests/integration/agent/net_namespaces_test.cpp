// Connections in network namespaces of the kernel, read by root, by another user, and with hidden processes. Skipped,
// with the reason printed, if namespaces cannot be created.
#include "agent/collect/net_namespaces.hpp"

#include <doctest/doctest.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "tests/unit/agent/tree.hpp"

using namespace wattle;
using namespace wattle::agent;

namespace {
constexpr int kConnections = 5;

bool loopback_up() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// Both ends of each connection are in this process's namespace.
bool connect_all(std::vector<Fd>& kept) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), kConnections) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0)
    return false;
  for (int i = 0; i < kConnections; ++i) {
    Fd one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(one.get(), generic, size) != 0) return false;
    Fd other(::accept(listener.get(), nullptr, nullptr));
    if (!other.valid()) return false;
    kept.push_back(std::move(one));
    kept.push_back(std::move(other));
  }
  kept.push_back(std::move(listener));
  return true;
}

// A process with its own network and connections, and a second process in the same network; ends both.
class Pod {
 public:
  Pod() {
    std::array<int, 2> up{}, down{};
    REQUIRE(::pipe(up.data()) == 0);
    REQUIRE(::pipe(down.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(up[0]);
      ::close(down[1]);
      std::vector<Fd> kept;
      char reported = 0;
      if (::unshare(CLONE_NEWNET) == 0) reported = loopback_up() && connect_all(kept) ? 2 : 1;
      const pid_t beside = reported == 2 ? ::fork() : 0;
      if (reported == 2 && beside == 0) {
        kept.clear();
        static_cast<void>(::read(down[0], &reported, 1));
        ::_exit(0);
      }
      static_cast<void>(::write(up[1], &reported, 1));
      static_cast<void>(::write(up[1], &beside, sizeof beside));
      static_cast<void>(::read(down[0], &reported, 1));  // blocks until the other end is closed
      ::_exit(0);
    }
    ::close(up[1]);
    ::close(down[0]);
    hold_ = Fd(down[1]);
    const Fd from(up[0]);
    REQUIRE(::read(from.get(), &reported_, 1) == 1);
    REQUIRE(::read(from.get(), &beside_, sizeof beside_) == static_cast<ssize_t>(sizeof beside_));
  }
  ~Pod() {
    hold_ = Fd();
    ::waitpid(pid_, nullptr, 0);
  }
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;
  bool made() const { return reported_ != 0; }
  bool connected() const { return reported_ == 2; }
  pid_t pid() const { return pid_; }
  pid_t beside() const { return beside_; }

 private:
  pid_t pid_ = -1, beside_ = -1;
  Fd hold_;
  char reported_ = 0;
};

// A user that no other process has. Services and pods run as 65534, and a user sees its own processes in any /proc.
uid_t unused_user() { return 1'900'000'000U + static_cast<uid_t>(::getpid()); }

// Runs `what` in a child process as an unprivileged user. Returns its result, or -1 if it could not run.
long as_other_user(const std::function<bool()>& before, const std::function<std::uint64_t()>& what) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const uid_t user = unused_user();
  const pid_t pid = ::fork();
  if (pid == 0) {
    long found = -1;
    if (before() && ::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
        ::setresuid(user, user, user) == 0)
      found = static_cast<long>(what());
    static_cast<void>(::write(ends[1], &found, sizeof found));
    ::_exit(0);
  }
  ::close(ends[1]);
  const Fd from(ends[0]);
  long found = -1;
  static_cast<void>(::read(from.get(), &found, sizeof found));
  ::waitpid(pid, nullptr, 0);
  return found;
}

std::uint64_t established(const std::string& proc_path) {
  const auto proc = Dir::open_(proc_path);
  if (!proc) return 1'000'000;
  std::vector<char> scratch(1 << 16);
  return NetNamespaces().read(*proc, "self/net/snmp", mono_from_ns(0), scratch);
}

// A private /proc with only the processes of this test, because other tests have namespaces too.
class Shown {
 public:
  explicit Shown(std::initializer_list<pid_t> pids) {
    std::filesystem::permissions(tree_.path(), std::filesystem::perms(0755));
    const std::filesystem::path root(tree_.path());
    std::filesystem::create_directory_symlink("/proc/self", root / "self");
    for (const pid_t pid : pids)
      std::filesystem::create_directory_symlink("/proc/" + std::to_string(pid), root / std::to_string(pid));
  }
  const std::string& path() const { return tree_.path(); }

 private:
  agent::test::Tree tree_;
};
}  // namespace

TEST_CASE("connections in a pod's network count once, for readers that see its processes, until it ends") {
  auto pod = std::make_unique<Pod>();
  if (!pod->made()) {
    std::printf("[skipped] network namespaces cannot be created here\n");
    return;
  }
  REQUIRE(pod->connected());
  const auto both = static_cast<std::uint64_t>(2 * kConnections);
  const Shown shown{::getpid(), pod->pid(), pod->beside()};
  CHECK(established(shown.path()) == both);
  // The host's /proc may have other namespaces, and each read looks at a limited number of processes.
  const auto all = Dir::open_("/proc");
  REQUIRE(all);
  NetNamespaces host;
  std::vector<char> text(1 << 16);
  std::uint64_t found = 0;
  for (int reads = 0; reads < 1000 && found < both; ++reads)
    found = host.read(*all, "self/net/snmp", mono_from_ns(0), text);
  CHECK(found >= both);
  const auto nothing = [] { return true; };
  CHECK(as_other_user(nothing, [&] { return established(shown.path()); }) == static_cast<long>(both));

  // The first process ends; the second keeps the network alive and has no connections.
  const auto proc = Dir::open_(shown.path());
  REQUIRE(proc);
  NetNamespaces kept;
  std::vector<char> scratch(1 << 16);
  CHECK(kept.read(*proc, "self/net/snmp", mono_from_ns(0), scratch) == both);
  const pid_t first = pod->pid();
  pod.reset();
  CHECK_FALSE(std::filesystem::exists("/proc/" + std::to_string(first)));
  CHECK(kept.read(*proc, "self/net/snmp", mono_from_ns(1'000'000'000), scratch) < both);
}

TEST_CASE("hidden processes are not counted, and the reader reports that it is incomplete") {
  Pod pod;
  if (!pod.made()) {
    std::printf("[skipped] network namespaces cannot be created here\n");
    return;
  }
  REQUIRE(pod.connected());
  const agent::test::Tree tree{{"proc/empty", ""}};
  std::filesystem::permissions(tree.path(), std::filesystem::perms(0755));
  const std::string hidden = tree.path() + "/proc";
  const auto mounted = [&] {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("proc", hidden.c_str(), "proc", 0, "hidepid=2") == 0;
  };
  const long found = as_other_user(mounted, [&] {
    const auto proc = Dir::open_(hidden);
    return established(hidden) + (proc && !shows_processes(*proc) ? 0 : 1000);
  });
  if (found < 0) {
    std::printf("[skipped] /proc cannot be mounted with hidepid here\n");
    return;
  }
  CHECK(found == 0);
  CHECK(shows_processes(*Dir::open_("/proc")));
}
