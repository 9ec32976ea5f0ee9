#include "controller/power/bounded_process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "common/descriptor_limit.hpp"
#include "common/dir.hpp"
#include "controller/power/kept_output.hpp"

namespace wattle::controller::power {
namespace {

constexpr std::size_t kMostStreamBytes = 64 << 10;
constexpr int kSecretFd = 3;
constexpr int kNotStarted = 127;

// Above the numbers that the child gives to its own files, so that none overwrites another.
Result<Fd> high(Fd fd, const std::string& subject) {
  constexpr int kFirst = 10;
  Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirst));
  if (!moved.valid()) return fail_errno(errno, subject, "raise the limit of open files");
  return moved;
}

Result<Fd> file_in_memory(std::string_view content, const std::string& subject) {
  Fd made(::memfd_create("wattle", MFD_CLOEXEC));
  if (!made.valid()) return fail_errno(errno, subject);
  while (!content.empty()) {
    const ssize_t n = ::write(made.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, subject);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::lseek(made.get(), 0, SEEK_SET) != 0) return fail_errno(errno, subject);
  return high(std::move(made), subject);
}

struct Pipe {
  Fd reading, writing;
};
Result<Pipe> open_pipe(const std::string& subject) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, subject, "raise the limit of open files");
  Fd reading(ends[0]), writing(ends[1]);
  if (::fcntl(reading.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno(errno, subject);
  Pipe pipe;
  WATTLE_TRY(pipe.reading, high(std::move(reading), subject));
  WATTLE_TRY(pipe.writing, high(std::move(writing), subject));
  return pipe;
}

struct Files {
  Fd input, secret;
  Pipe output, errors, why;
};
Result<Files> open_files(const Program& program) {
  const std::string& name = program.words[0];
  Files files;
  WATTLE_TRY(files.input, file_in_memory(program.input, name));
  if (program.secret) {
    WATTLE_TRY(files.secret, file_in_memory(*program.secret, name));
  }
  WATTLE_TRY(files.output, open_pipe(name));
  WATTLE_TRY(files.errors, open_pipe(name));
  WATTLE_TRY(files.why, open_pipe(name));
  return files;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (const char* name : {"PATH", "HOME", "LANG"})
    if (const char* value = std::getenv(name); value != nullptr) variables.push_back(std::string(name) + "=" + value);
  return variables;
}

// Replaces the child with the program. Only calls that are safe after a fork in a process with threads.
[[noreturn]] void become(const Files& files, char* const* arguments, char* const* variables, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotStarted);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_DFL);
  ::dup2(files.input.get(), STDIN_FILENO);
  ::dup2(files.output.writing.get(), STDOUT_FILENO);
  ::dup2(files.errors.writing.get(), STDERR_FILENO);
  if (files.secret.valid()) ::dup2(files.secret.get(), kSecretFd);
  // This process may have inherited descriptors without close-on-exec.
  ::close_range(static_cast<unsigned>(files.secret.valid() ? kSecretFd + 1 : kSecretFd), ~0U, CLOSE_RANGE_CLOEXEC);
  lower_descriptor_limit();
  ::execvpe(arguments[0], arguments, variables);
  const int error = errno;
  if (::write(files.why.writing.get(), &error, sizeof error) < 0) ::_exit(kNotStarted);
  ::_exit(kNotStarted);
}

// Appends all available bytes; false at the end.
bool drain(const Fd& from, std::string& into, bool keep_first) {
  std::array<char, 8192> buffer{};
  for (;;) {
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    const std::string_view read(buffer.data(), static_cast<std::size_t>(n));
    if (keep_first) {
      into.append(read.substr(0, kMostStreamBytes - into.size()));
    } else {
      into.append(read);
      if (into.size() > kMostStreamBytes) into.erase(0, into.size() - kMostStreamBytes);
    }
  }
}

// Waits for the program to end and reads its output meanwhile; false on timeout.
bool wait_for_end(const Fd& process, const Files& files, ProgramEnd& end, const TimeLeft& time) {
  bool output_open = true, errors_open = true;
  for (;;) {
    std::array<pollfd, 3> waiting{pollfd{process.get(), POLLIN, 0},
                                  pollfd{output_open ? files.output.reading.get() : -1, POLLIN, 0},
                                  pollfd{errors_open ? files.errors.reading.get() : -1, POLLIN, 0}};
    const auto left = time.left().count();
    const int ready = left > 0 ? ::poll(waiting.data(), waiting.size(), static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (output_open) output_open = drain(files.output.reading, end.output, true);
    if (errors_open) errors_open = drain(files.errors.reading, end.errors, false);
    if (ready <= 0) return false;
    if (waiting[0].revents != 0) return true;
  }
}

// Kills the remaining processes of the group before the program is reaped: until then no other group can have its
// number.
int reap(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<ProgramEnd> run_bounded(const Program& program, const TimeLeft& time) {
  const std::string& name = program.words[0];
  WATTLE_TRY(Files files, open_files(program));
  const std::vector<std::string> variables = environment();
  const std::vector<char*> arguments = pointers_to(program.words), settings = pointers_to(variables);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0) return fail_errno(errno, name, "allow more processes (TasksMax)");
  if (pid == 0) become(files, arguments.data(), settings.data(), parent);
  ::setpgid(pid, pid);
  files.output.writing = Fd();
  files.errors.writing = Fd();
  files.why.writing = Fd();
  ProgramEnd end;
  // glibc 2.36 declares pidfd_open() without C linkage.
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const bool ended = process.valid() && wait_for_end(process, files, end, time);
  if (!ended) ::kill(-pid, SIGKILL);
  end.code = reap(pid);
  drain(files.output.reading, end.output, true);
  drain(files.errors.reading, end.errors, false);
  int error = 0;
  if (::read(files.why.reading.get(), &error, sizeof error) == static_cast<ssize_t>(sizeof error)) {
    if (error == ENOENT || error == ENOTDIR) return fail(Errc::not_found, name, "is not installed", "install it");
    return fail_errno(error, name, "check that it is a program and that this user may run it");
  }
  if (!process.valid())
    return fail(Errc::unsupported, name, "this kernel has no pidfd_open()", "use Linux 5.3 or newer");
  if (!ended)
    return fail(Errc::timeout, name,
                with_output("did not end within " + std::to_string(time.limit().count()) + " ms and was killed",
                            end.errors.empty() ? end.output : end.errors),
                "make it faster, or raise the limit");
  return end;
}

}  // namespace wattle::controller::power
