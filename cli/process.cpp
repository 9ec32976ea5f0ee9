#include "cli/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"

namespace wattle::cli {

namespace {

constexpr std::size_t kMostSaid = 1 << 20;
constexpr int kNotStarted = 127;

// Makes the argument array of execvp, before the fork.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

// Replaces the child with the program. `why` receives errno if the program cannot be run, and is closed otherwise.
[[noreturn]] void become(char* const* arguments, int output, int errors, bool interactive = false, int why = -1) {
  if (!interactive) ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::execvp(arguments[0], arguments);
  const int error = errno;
  if (why >= 0 && ::write(why, &error, sizeof error) < 0) ::_exit(kNotStarted);
  ::_exit(kNotStarted);
}

// Reads state and start time from /proc/PID/stat, after the name in parentheses, which may contain any character.
std::optional<std::pair<char, std::uint64_t>> process_state(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return std::nullopt;
  const auto words = parse::fields(std::string_view(*text).substr(text->rfind(')') + 1));
  constexpr std::size_t kStart = 19;  // the 22nd field of all
  if (words.size() <= kStart || words[0].empty()) return std::nullopt;
  const auto since = parse::integer<std::uint64_t>(words[kStart]);
  if (!since) return std::nullopt;
  return std::pair{words[0].front(), *since};
}

constexpr int kLook_ms = 100, kLookAtEnd_ms = 5;

// Reads what is there now. Returns false at the end of the output.
bool read_some(int from, std::string& said) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(from, buffer.data(), buffer.size());
  if (got > 0 && said.size() < kMostSaid) said.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// Reads the output until the program has ended, even if a program that it started keeps the output open. Returns the
// wait status; no value if the program did not end in time and was killed.
std::optional<int> follow(pid_t pid, int from, std::chrono::seconds limit, std::string& said) {
  const SystemClock clock;
  const MonoTime began = clock.mono();
  ::fcntl(from, F_SETFL, O_NONBLOCK);
  int status = 0;
  for (bool open = true;;) {
    pollfd output{open ? from : -1, POLLIN, 0};
    if (::poll(&output, 1, open ? kLook_ms : kLookAtEnd_ms) > 0) open = read_some(from, said);
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) break;
    if (limit.count() == 0 || clock.mono() - began < limit) continue;
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return std::nullopt;
  }
  pollfd rest{from, POLLIN, 0};
  while (said.size() < kMostSaid && ::poll(&rest, 1, 0) > 0 && read_some(from, said)) {
  }
  return status;
}

// Sets `environment` in the child. Its standard error is ours unless it is `merged` into its output.
Result<Ran> run_to_end(const std::vector<std::string>& words, bool merged,
                       const std::vector<std::pair<std::string, std::string>>& environment, bool interactive,
                       std::chrono::seconds limit) {
  std::array<int, 2> ends{}, why{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, words[0]);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  if (::pipe2(why.data(), O_CLOEXEC) != 0) return fail_errno(errno, words[0]);
  const Fd reading_why(why[0]);
  Fd writing_why(why[1]);
  const std::vector<char*> arguments = pointers_to(words);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, words[0]);
  if (pid == 0) {
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    become(arguments.data(), writing.get(), merged ? writing.get() : STDERR_FILENO, interactive, writing_why.get());
  }
  writing = Fd();
  writing_why = Fd();
  Ran ran;
  const auto status = follow(pid, reading.get(), limit, ran.said);
  if (!status)
    return fail(Errc::timeout, words[0], "did not end within " + std::to_string(limit.count()) + " s",
                "run it by hand to see what it waits for");
  ran.code = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
  int error = 0;
  if (::read(reading_why.get(), &error, sizeof error) != static_cast<ssize_t>(sizeof error)) return ran;
  if (error == ENOENT || error == ENOTDIR)
    return fail(Errc::not_found, words[0], "cannot be started", "install its package");
  return fail_errno(error, words[0], "check that it is a program and that this user may run it");
}

}  // namespace

Result<Ran> run_program(const std::vector<std::string>& words) { return run_to_end(words, true, {}, false, {}); }

Result<Ran> output_of(const std::vector<std::string>& words,
                      const std::vector<std::pair<std::string, std::string>>& environment, bool interactive,
                      std::chrono::seconds limit) {
  return run_to_end(words, false, environment, interactive, limit);
}

Result<Started> start_program(const std::vector<std::string>& words, const std::string& log_file) {
  const Fd log(::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return fail_errno(errno, log_file);
  const std::vector<char*> arguments = pointers_to(words);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno(errno, words[0]);
  if (pid == 0) {
    ::setsid();
    become(arguments.data(), log.get(), log.get());
  }
  const auto state = process_state(pid);
  if (!state) return fail(Errc::io, words[0], "is not in /proc after its start");
  return Started{pid, state->second};
}

Result<Child> start_child(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, words[0]);
  Fd reading(ends[0]);
  const Fd writing(ends[1]);
  const std::vector<char*> arguments = pointers_to(words);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0) return fail_errno(errno, words[0]);
  if (pid == 0) {
    ::setsid();  // Ctrl-C ends it through this process
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(kNotStarted);
    become(arguments.data(), writing.get(), writing.get());
  }
  const auto state = process_state(pid);
  if (!state) return fail(Errc::io, words[0], "is not in /proc after its start");
  return Child{{pid, state->second}, std::move(reading)};
}

bool runs(const Started& process) {
  const auto state = process_state(process.pid);
  return state && state->second == process.since && state->first != 'Z';
}

void end_process(const Started& process, int patience_s) {
  if (!runs(process)) return;
  ::kill(process.pid, SIGTERM);
  for (int tenth = 0; tenth < 10 * patience_s && runs(process); ++tenth)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (runs(process)) ::kill(process.pid, SIGKILL);
  ::waitpid(process.pid, nullptr, WNOHANG);
}

std::int64_t unix_now_s() { return to_ns(SystemClock().wall()) / 1'000'000'000; }

std::string program_of_ours(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / name;
  return !error && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : name;
}

}  // namespace wattle::cli
