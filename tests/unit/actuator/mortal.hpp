// mortal: a process that SIGKILL ends at its n-th call that changes something: before it, during it, or after it.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernel_tree.hpp"

namespace wattle::actuator::test {

// Forks are slow under a sanitizer, so it runs only as many as memory errors need.
#ifdef WATTLE_SANITIZED
constexpr std::uint64_t kKills = 200;
#else
constexpr std::uint64_t kKills = 1'000;
#endif

class Death {
 public:
  Death(std::uint64_t calls, unsigned how) : left_(calls), how_(how) {}
  bool during_call() const { return left_ == 0 && how_ == 1; }
  template <class Call>
  std::invoke_result_t<Call> around(const Call& call) {
    const bool now = left_ == 0;
    if (left_ > 0) --left_;
    if (now && how_ < 2) ::kill(::getpid(), SIGKILL);
    auto result = call();
    if (now) ::kill(::getpid(), SIGKILL);
    return result;
  }

 private:
  std::uint64_t left_;
  unsigned how_;
};

class MortalOs final : public KernelOs {
 public:
  explicit MortalOs(Death& death) : death_(death) {}
  ssize_t append(int fd, std::string_view text) override {
    if (death_.during_call()) static_cast<void>(KernelOs::append(fd, text.substr(0, text.size() / 2)));
    return death_.around([&] { return KernelOs::append(fd, text); });
  }
  int sync(int fd) override {
    return death_.around([&] { return KernelOs::sync(fd); });
  }
  ssize_t put(int fd, std::string_view text) override {
    return death_.around([&] { return KernelOs::put(fd, text); });
  }
  Status replace(const std::string& path, std::string_view text) override {
    return death_.around([&] { return KernelOs::replace(path, text); });
  }

 private:
  Death& death_;
};

// Runs the work in a process of its own; returns true if SIGKILL ended it.
template <class Work>
bool dies(const Work& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace wattle::actuator::test
