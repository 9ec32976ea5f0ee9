// processes: starts programs, each in its own process group, and ends them when this process ends for any reason.
// How      PR_SET_PDEATHSIG on each child; and a watcher in its own session that kills the groups when its pipe to us
//          closes, because the kernel's signal reaches only children, not their children. With Where::alone, the
//          program runs below the first process of its own PID namespace, if we may create one: when that process, our
//          child, ends, the kernel ends all others in the namespace
// Bounds   without the right to create namespaces (CAP_SYS_ADMIN), a SIGKILL to us and the watcher at once may leave
//          children of children running
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

// Returns the first executable file of that name in the folders of `path` ($PATH).
Result<std::string> find_program(const std::string& name, const std::string& path);

enum class Where { with_us, alone };

class Processes {
 public:
  // `folder` belongs to this object, and is removed with its content at the end.
  static Result<Processes> open_(std::string folder);
  Processes(Processes&&) noexcept = default;
  Processes& operator=(Processes&&) = delete;
  ~Processes();
  // Returns the process group. The program's stdout and stderr go to `said_in`, a file in the folder.
  Result<pid_t> start(const std::string& program, const std::vector<std::string>& words, const std::string& said_in,
                      Where where = Where::with_us);
  // Exit code if the program has ended by itself; no value while it runs.
  std::optional<int> ended(pid_t group);
  // Stops the group. The end of a program started with Where::alone is still noticed during the pause.
  void pause(pid_t group);
  void resume(pid_t group);
  // Asks all groups to end, and kills them after `patience`.
  void end(std::chrono::milliseconds patience = std::chrono::seconds(2));
  const std::string& folder() const { return folder_; }

 private:
  Processes(std::string folder, Fd watched, pid_t watcher)
      : folder_(std::move(folder)), watched_(std::move(watched)), watcher_(watcher) {}
  std::string folder_;
  Fd watched_;  // closing it ends the watcher
  pid_t watcher_;
  std::vector<pid_t> groups_, alone_;
  std::vector<Fd> alive_;  // a pipe's end per child; closes when we end
};

}  // namespace wattle::load
