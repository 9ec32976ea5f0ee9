// processes: programs that are started, each as a process group of its own, and are gone when we are, whatever ends us alone.
// How      PR_SET_PDEATHSIG on each; and a watcher in a session of its own, which reads a pipe until we are no more and then kills the
//          groups: children of children are of the group, but the kernel's signal is for children alone
//          One that is to be alone is below the first process of a PID namespace of its own, where we may make one: with that process,
//          which is our child, the kernel ends all others of the namespace
// Bounds   who may make no namespace (CAP_SYS_ADMIN): whoever kills us and the watcher at once, with SIGKILL, may leave children of
//          children behind
// Errors   not_found (no such program), io
// Threads  single owner; start before any thread: it forks
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/dir.hpp"
#include "common/result.hpp"

namespace wattle::load {

// The first file of that name in the folders of `path` ($PATH) that may be run.
Result<std::string> find_program(const std::string& name, const std::string& path);

enum class Where { with_us, alone };

class Processes {
 public:
  // `folder` is ours: removed with all that is in it at the end.
  static Result<Processes> open_(std::string folder);
  Processes(Processes&&) noexcept = default;
  Processes& operator=(Processes&&) = delete;
  ~Processes();
  // Gives the group. Its words are on standard error and output of `said_in`, a file in the folder.
  Result<pid_t> start(const std::string& program, const std::vector<std::string>& words, const std::string& said_in,
                      Where where = Where::with_us);
  // Whether it has ended by itself; absent: it runs.
  std::optional<int> ended(pid_t group);
  // One that is alone and ends meanwhile is still seen to have ended.
  void pause(pid_t group);
  void resume(pid_t group);
  // All of them: asked to, and killed after `patience`.
  void end(std::chrono::milliseconds patience = std::chrono::seconds(2));
  const std::string& folder() const { return folder_; }

 private:
  Processes(std::string folder, Fd watched, pid_t watcher)
      : folder_(std::move(folder)), watched_(std::move(watched)), watcher_(watcher) {}
  std::string folder_;
  Fd watched_;  // its end ends the watcher
  pid_t watcher_;
  std::vector<pid_t> groups_, alone_;
  std::vector<Fd> alive_;  // an end of a pipe for each that was started: shut with us
};

}  // namespace wattle::load
