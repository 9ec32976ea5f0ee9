// child: starts a process for a test, reads its output, and kills it at the end of the test.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/dir.hpp"
#include "tests/places.hpp"

namespace wattle::agent::test {

class Child {
 public:
  // `before_exec` runs in the child; false ends it with status 126.
  explicit Child(std::vector<std::string> arguments, const std::function<bool()>& before_exec = {}) {
    std::array<int, 2> pipe_fds{};
    REQUIRE(::pipe2(pipe_fds.data(), O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      ::dup2(pipe_fds[1], STDOUT_FILENO);
      ::dup2(pipe_fds[1], STDERR_FILENO);
      if (before_exec && !before_exec()) ::_exit(126);
      std::vector<char*> argv;
      for (auto& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(pipe_fds[1]);
    out_ = Fd(pipe_fds[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(SIGKILL); }

  pid_t pid() const { return pid_; }
  // The next line of stdout or stderr; absent at the end, or if none arrives within half a minute.
  std::optional<std::string> line() {
    for (;;) {
      if (const auto at = buffer_.find('\n'); at != std::string::npos) {
        std::string found = buffer_.substr(0, at);
        buffer_.erase(0, at + 1);
        return found;
      }
      pollfd readable{out_.get(), POLLIN, 0};
      if (::poll(&readable, 1, 30'000) <= 0) return std::nullopt;
      std::array<char, 65536> chunk;
      const ssize_t n = ::read(out_.get(), chunk.data(), chunk.size());
      if (n <= 0) return std::nullopt;
      buffer_.append(chunk.data(), static_cast<std::size_t>(n));
    }
  }
  std::string rest() {
    std::string all;
    while (auto one = line()) all += *one + "\n";
    return all + buffer_;
  }
  // Returns the exit status, or 128 + the signal that ended the process.
  int wait() {
    if (pid_ <= 0) return status_;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
  }
  // Keeps remaining output for line(), because a child that waits for room in the pipe does not exit.
  int end(int signal_number) {
    if (pid_ > 0) ::kill(pid_, signal_number);
    while (pid_ > 0) {
      pollfd readable{out_.get(), POLLIN, 0};
      std::array<char, 65536> chunk;
      ssize_t n = 0;
      if (::poll(&readable, 1, 20) > 0) n = ::read(out_.get(), chunk.data(), chunk.size());
      if (n > 0) buffer_.append(chunk.data(), static_cast<std::size_t>(n));
      siginfo_t ended{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0)
        return wait();
    }
    return wait();
  }

 private:
  pid_t pid_ = -1;
  int status_ = -1;
  Fd out_;
  std::string buffer_;
};

inline std::string agent_binary() { return tests::bin_dir() + "/wattle-agent"; }

}  // namespace wattle::agent::test
