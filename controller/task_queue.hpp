// task_queue: runs work of other threads on the thread that owns the state, and returns the result to them.
// Bounds   at most `capacity` waiting calls
// Errors   unavailable (the owner stops or the queue is full), timeout (not started, and dropped; or still running)
// Threads  call() from any thread except the owner; all others from the owner
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include "common/dir.hpp"
#include "common/result.hpp"
#include "controller/steps.hpp"

namespace wattle::controller {

class TaskQueue {
 public:
  using Work = std::function<Document()>;
  static Result<std::unique_ptr<TaskQueue>> open_(std::size_t capacity);
  enum class Kind { probe, document };
  Result<std::string> call(Work work, std::chrono::milliseconds timeout, Kind kind = Kind::document);
  // Readable when work is queued, or after wake().
  int fd() const { return fd_.get(); }
  void wake();
  // Runs all probes, which are short.
  void run_probes();
  // Takes the document that has waited longest, and returns the work to make it.
  Steps begin();
  // Returns true if documents wait.
  bool waits();
  // Answers all waiting and later calls with unavailable.
  void close();

 private:
  struct Call {
    Work work;
    Kind kind{};
    std::promise<Result<std::string>> answer;
  };
  TaskQueue(Fd fd, std::size_t capacity) : fd_(std::move(fd)), capacity_(capacity) {}
  std::shared_ptr<Call> take(Kind kind);  // null if there is none

  Fd fd_;
  std::size_t capacity_;
  std::mutex mutex_;
  bool closed_ = false;
  std::deque<std::shared_ptr<Call>> calls_;  // in order of arrival
};

}  // namespace wattle::controller
