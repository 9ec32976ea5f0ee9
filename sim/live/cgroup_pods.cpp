#include "sim/live/cgroup_pods.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>

#include "common/dir.hpp"
#include "common/formatted.hpp"
#include "common/parse.hpp"

namespace wattle::sim::live {

namespace {

constexpr std::string_view kMarker = "77617474-6c65-";  // "wattle"
constexpr std::string_view kPodPrefix = "kubepods-burstable-pod";
constexpr std::string_view kSlice = ".slice";
// Marks parent cgroups that this process made and may remove. A kubelet's own cgroups stay.
constexpr const char* kMadeByUs = "user.wattle.made";

std::string systemd_name(std::string uid) {
  std::replace(uid.begin(), uid.end(), '-', '_');
  return uid;
}

Status make_cgroup(const std::string& path, bool mark) {
  if (mkdir(path.c_str(), 0755) != 0) {
    if (errno == EEXIST) return {};
    return fail_errno(errno, path, "pods on this machine need root and a writable cgroup2 tree");
  }
  if (mark) static_cast<void>(setxattr(path.c_str(), kMadeByUs, "1", 1, 0));
  return {};
}

void remove_if_ours(const std::string& path) {
  char value = 0;
  if (getxattr(path.c_str(), kMadeByUs, &value, 1) == 1) rmdir(path.c_str());
}

void write_text(const std::string& path, std::string_view text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.valid()) static_cast<void>(!write(fd.get(), text.data(), text.size()));
}

// Waits until no process runs below it, at most two seconds.
void wait_until_empty(const std::string& path) {
  const Fd fd(open((path + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return;
  for (int round = 0; round < 20; ++round) {
    std::array<char, 256> buffer{};
    const ssize_t got = pread(fd.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    if (parse::keyed_u64(text, "populated").value_or(0) == 0) return;
    pollfd waiting{fd.get(), POLLPRI, 0};
    poll(&waiting, 1, 100);
  }
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* const path = std::getenv("PATH");
  for (const auto folder : parse::split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const std::string candidate = std::string(folder) + "/" + name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace

std::string marked_pod_uid(std::uint64_t run, pid_t process, std::uint32_t counter) {
  return formatted("%s4%03x-8%03x-%08x%04x", std::string(kMarker).c_str(), static_cast<unsigned>(run & 0xfff),
                   static_cast<unsigned>((run >> 12) & 0xfff), static_cast<unsigned>(process),
                   static_cast<unsigned>(counter & 0xffff));
}

pid_t process_of_marked_uid(std::string_view uid) {
  std::string dashed(uid);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  if (dashed.size() != 36 || !dashed.starts_with(kMarker)) return 0;
  return parse::integer<pid_t>(std::string_view(dashed).substr(24, 8), 16).value_or(0);
}

Result<std::string> find_cgroup2_mount(std::string_view mounts) {
  std::string found;
  parse::for_each_line(mounts, [&](std::string_view line) {
    const auto columns = parse::fields(line);
    if (columns.size() >= 3 && columns[2] == "cgroup2" && found.empty()) found = columns[1];
  });
  if (found.empty())
    return fail(Errc::not_found, "/proc/self/mounts", "no cgroup2 file system is mounted",
                "mount -t cgroup2 none /sys/fs/cgroup/unified, or omit --real-node");
  return found;
}

Result<CgroupPods> CgroupPods::open_(const CgroupPodsOptions& options) {
  CgroupPods pods(options);
  pods.program_ = find_program(options.program);
  if (pods.program_.empty())
    return fail(Errc::not_found, options.program, "is not in PATH", "apt-get install " + options.program);
  WATTLE_TRY(auto root, Dir::open_(options.cgroup_root));
  if (!root.exists("cgroup.procs"))
    return fail(Errc::malformed, options.cgroup_root, "is not a cgroup2 tree",
                "set its mount point with --cgroup-root");
  if (access(options.cgroup_root.c_str(), W_OK) != 0)
    return fail_errno(errno, options.cgroup_root, "pods on this machine need root and a writable cgroup2 tree");
  return pods;
}

CgroupPods::~CgroupPods() {
  while (!pods_.empty()) static_cast<void>(stop(pods_.begin()->first));
}

std::string CgroupPods::burstable() const { return options_.cgroup_root + "/kubepods.slice/kubepods-burstable.slice"; }

std::string CgroupPods::pod_dir(const std::string& uid) const {
  return burstable() + "/" + std::string(kPodPrefix) + systemd_name(uid) + std::string(kSlice);
}

// A container id is 64 hex digits: the 32 of the pod's UID twice.
std::string CgroupPods::scope_dir(const std::string& uid) const {
  std::string hex;
  for (const char c : uid)
    if (c != '-') hex += c;
  return pod_dir(uid) + "/cri-containerd-" + hex + hex + ".scope";
}

Status CgroupPods::start(const std::string& uid, double load_percent) {
  if (process_of_marked_uid(uid) == 0) return fail(Errc::malformed, uid, "does not carry the marker");
  if (pods_.contains(uid)) return {};
  double total = load_percent;
  for (const auto& [other, pod] : pods_) total += pod.load_percent;
  if (total > options_.max_total_load_percent + 1e-9)
    return fail(Errc::exhausted, uid,
                "would raise the load here above " + std::to_string(std::lround(options_.max_total_load_percent)) +
                    " % of one core");
  WATTLE_CHECK(make_cgroup(options_.cgroup_root + "/kubepods.slice", true));
  WATTLE_CHECK(make_cgroup(burstable(), true));
  WATTLE_CHECK(make_cgroup(pod_dir(uid), false));
  WATTLE_CHECK(make_cgroup(scope_dir(uid), false));
  auto process = spawn(scope_dir(uid), load_percent);
  if (!process) {
    static_cast<void>(remove_tree(pod_dir(uid)));
    return forward_error(process);
  }
  pods_[uid] = {*process, load_percent};
  return {};
}

Result<pid_t> CgroupPods::spawn(const std::string& scope, double load_percent) const {
  const Fd procs(open((scope + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!procs.valid()) return fail_errno(errno, scope + "/cgroup.procs");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  const Fd reported(ends[0]);
  Fd report(ends[1]);
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return fail_errno(errno, "/dev/null");

  std::vector<std::string> arguments{program_, "--cpu", "1", "--cpu-load"};
  arguments.push_back(std::to_string(std::clamp(std::lround(load_percent), 1L, 100L)));
  arguments.insert(arguments.end(), {"--timeout", std::to_string(options_.max_seconds) + "s", "--quiet"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) return fail_errno(errno, "fork");
  if (child == 0) {
    // Only async-signal-safe calls from here to exec. Writing 0 moves the writer.
    int problem = 0;
    sigset_t none;
    sigemptyset(&none);
    if (write(procs.get(), "0", 1) != 1) problem = errno;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int fd : {0, 1, 2}) dup2(null.get(), fd);
    if (problem == 0 && chdir("/") == 0) {
      execv(argv[0], argv.data());
    }
    if (problem == 0) problem = errno;
    static_cast<void>(!write(report.get(), &problem, sizeof problem));
    _exit(127);
  }
  report = Fd();
  int problem = 0;
  if (read(reported.get(), &problem, sizeof problem) == static_cast<ssize_t>(sizeof problem)) {
    waitpid(child, nullptr, 0);
    return fail_errno(problem, program_, "could not be started in " + scope);
  }
  return child;
}

Status CgroupPods::remove_tree(const std::string& path) {
  auto dir = Dir::open_(path);
  if (!dir) {
    if (dir.error().code == Errc::not_found) return {};
    return forward_error(dir);
  }
  write_text(path + "/cgroup.kill", "1");
  wait_until_empty(path);
  WATTLE_TRY(auto entries, dir->list());
  for (const DirEntry& entry : entries)
    if (entry.is_dir) rmdir((path + "/" + entry.name).c_str());
  if (rmdir(path.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, path);
  return {};
}

Status CgroupPods::stop(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return {};
  const std::string path = pod_dir(uid);  // a copy, because uid may be the key that is erased
  const pid_t process = found->second.process;
  pods_.erase(found);
  const Status removed = remove_tree(path);
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  if (pods_.empty()) {
    remove_if_ours(burstable());
    remove_if_ours(options_.cgroup_root + "/kubepods.slice");
  }
  return removed;
}

std::size_t CgroupPods::sweep() {
  std::size_t swept = 0;
  const auto dir = Dir::open_(burstable());
  if (!dir) return 0;
  const auto entries = dir->list();
  if (!entries) return 0;
  for (const DirEntry& entry : *entries) {
    if (!entry.is_dir || !entry.name.starts_with(kPodPrefix) || !entry.name.ends_with(kSlice)) continue;
    const std::string_view uid =
        std::string_view(entry.name).substr(kPodPrefix.size(), entry.name.size() - kPodPrefix.size() - kSlice.size());
    const pid_t maker = process_of_marked_uid(uid);
    if (maker == 0 || maker == getpid()) continue;
    const auto proc = Dir::open_(options_.proc_root + "/" + std::to_string(maker));
    if (proc) {
      const auto comm = proc->read_file("comm");
      if (comm && parse::trim(*comm) == "wattle-sim") continue;
    }
    if (remove_tree(burstable() + "/" + entry.name)) ++swept;
  }
  if (pods_.empty()) {
    remove_if_ours(burstable());
    remove_if_ours(options_.cgroup_root + "/kubepods.slice");
  }
  return swept;
}

}  // namespace wattle::sim::live
