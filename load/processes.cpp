#include "load/processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/parse.hpp"

namespace wattle::load {

namespace {

constexpr useconds_t kLookAgainUs = 10'000;
constexpr int kLooks = 300;  // wait for killed processes: 3 s

void remove_folder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

// Reads groups until the pipe closes, which happens when its writer ends, and then kills them.
[[noreturn]] void watch(int pipe_end, const std::string& folder) {
  setsid();  // keeps a signal to our group, for example from a shell, away from it
  std::vector<pid_t> groups;
  for (pid_t group = 0;;) {
    const ssize_t got = read(pipe_end, &group, sizeof group);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof group)) break;
    if (group == 0)
      groups.clear();  // all have ended normally, and their ids may be reused
    else
      groups.push_back(group);
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  for (const pid_t group : groups)
    for (int look = 0; look < kLooks && kill(-group, 0) == 0; ++look) usleep(kLookAgainUs);
  remove_folder(folder);
  _exit(0);
}

// Returns whether the only process that holds the other end of `alive` has ended.
bool is_gone(int alive) {
  pollfd end{alive, POLLIN, 0};
  return poll(&end, 1, 0) != 0;
}

// First process of a namespace: reaps orphans in it, and ends the namespace when `first` ends.
[[noreturn]] void reap_until_ended(pid_t first) {
  close_range(3, ~0U, 0);  // the watcher waits until all other copies of its pipe's end are closed
  for (int status = 0;;) {
    const pid_t gone = waitpid(-1, &status, 0);
    if (gone < 0 && errno == EINTR) continue;
    if (gone < 0) _exit(127);
    if (gone == first) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

// Like fork(); if permitted, the child is the first process of a new PID namespace.
Result<pid_t> fork_alone(bool& alone) {
  const Fd ours(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
  alone = ours.valid() && unshare(CLONE_NEWPID) == 0;
  const pid_t child = fork();
  const int why = errno;
  // Later children must be in our own namespace again.
  if (child != 0 && alone && setns(ours.get(), CLONE_NEWPID) != 0) {
    const int lost = errno;
    if (child > 0) kill(child, SIGKILL);
    if (child > 0) waitpid(child, nullptr, 0);
    return fail_errno(lost, "/proc/self/ns/pid");
  }
  if (child < 0) return fail_errno(why, "fork");
  return child;
}

[[noreturn]] void become(const std::string& program, const std::vector<std::string>& words, const std::string& said_in,
                         int alive, bool alone) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (is_gone(alive)) _exit(127);  // the parent ended before PR_SET_PDEATHSIG was set
  if (alone) {
    // Forks again, because the first process of a namespace ignores all signals but SIGKILL and SIGSTOP; the program
    // gets those sent to the group.
    const pid_t first = fork();
    if (first < 0) _exit(127);
    if (first > 0) reap_until_ended(first);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
  const int said = open(said_in.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(said, STDOUT_FILENO);
  dup2(said, STDERR_FILENO);
  std::vector<char*> pointers{const_cast<char*>(program.c_str())};
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  _exit(127);
}

}  // namespace

Result<std::string> find_program(const std::string& name, const std::string& path) {
  for (const std::string_view folder : parse::split(path, ':')) {
    std::string file = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file)) return file;
  }
  return fail(Errc::not_found, name, "is not installed or not in PATH", "apt-get install " + name);
}

Result<Processes> Processes::open_(std::string folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  Fd read_end(ends[0]), write_end(ends[1]);
  signal(SIGPIPE, SIG_IGN);  // the watcher may be killed by another process
  const pid_t watcher = fork();
  if (watcher < 0) return fail_errno(errno, "fork");
  if (watcher == 0) {
    close(write_end.release());
    watch(read_end.get(), folder);
  }
  return Processes(std::move(folder), std::move(write_end), watcher);
}

Processes::~Processes() {
  if (!watched_.valid()) return;  // moved from
  end();
  watched_ = Fd();
  while (waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) continue;
}

Result<pid_t> Processes::start(const std::string& program, const std::vector<std::string>& words,
                               const std::string& said_in, Where where) {
  const std::string said = folder_ + "/" + said_in;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
  const Fd alive(ends[0]);
  Fd held(ends[1]);  // held until the child has set PR_SET_PDEATHSIG
  bool alone = false;
  pid_t group = -1;
  if (where == Where::alone) {
    WATTLE_TRY(group, fork_alone(alone));
  } else if ((group = fork()) < 0) {
    return fail_errno(errno, "fork");
  }
  if (group == 0) {
    held = Fd();
    become(program, words, said, alive.get(), alone);
  }
  setpgid(group, group);  // also set here: the caller may signal the group at once
  groups_.push_back(group);
  if (alone) alone_.push_back(group);
  // Open until we end or the child has become the program; the child may check it at any moment.
  alive_.push_back(std::move(held));
  if (write(watched_.get(), &group, sizeof group) != static_cast<ssize_t>(sizeof group))
    return fail_errno(errno, "pipe to the watcher");
  return group;
}

std::optional<int> Processes::ended(pid_t group) {
  int status = 0;
  if (waitpid(group, &status, WNOHANG) != group) return std::nullopt;
  std::erase(groups_, group);
  std::erase(alone_, group);
  kill(-group, SIGKILL);  // kills remaining processes of the group
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Processes::pause(pid_t group) {
  kill(-group, SIGSTOP);
  // The first process of a namespace only waits for the program's end. If it were stopped, the end would go unnoticed
  // during the pause.
  if (std::find(alone_.begin(), alone_.end(), group) != alone_.end()) kill(group, SIGCONT);
}
void Processes::resume(pid_t group) { kill(-group, SIGCONT); }

void Processes::end(std::chrono::milliseconds patience) {
  for (const pid_t group : groups_) {
    kill(-group, SIGTERM);
    kill(-group, SIGCONT);
  }
  const auto looks = std::chrono::microseconds(patience).count() / kLookAgainUs;
  for (const pid_t group : groups_) {
    pid_t reaped = 0;
    for (long look = 0; look < looks && (reaped = waitpid(group, nullptr, WNOHANG)) == 0; ++look) usleep(kLookAgainUs);
    kill(-group, SIGKILL);
    while (reaped == 0 && waitpid(group, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  groups_.clear();
  alone_.clear();
  constexpr pid_t kNone = 0;
  if (write(watched_.get(), &kNone, sizeof kNone) < 0)
    return;  // the watcher is gone, and there is nothing left to
             // watch
}

}  // namespace wattle::load
