// task_queue: lets other threads have something done on the thread that owns the state, and wait for the answer.
// Bounds   `capacity` calls wait at most
// Errors   unavailable (the owner stops or is full), timeout (it did not come to it and will not, or is still at it)
// Threads  call() from any but the owner; run() and close() from the owner
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

namespace wattle::controller {

class TaskQueue {
 public:
  using Work = std::function<Result<std::string>()>;
  static Result<std::unique_ptr<TaskQueue>> open_(std::size_t capacity);
  enum class Kind { probe, document };
  Result<std::string> call(Work work, std::chrono::milliseconds timeout, Kind kind = Kind::document);
  // Readable when there is something to do, or after wake().
  int fd() const { return fd_.get(); }
  void wake();
  // All probes, and at most one document if that is wanted. True: documents are left.
  bool run(bool document);
  // Answers whoever waits with unavailable, and everybody who comes.
  void close();

 private:
  struct Call {
    Work work;
    Kind kind{};
    std::promise<Result<std::string>> answer;
  };
  TaskQueue(Fd fd, std::size_t capacity) : fd_(std::move(fd)), capacity_(capacity) {}
  std::shared_ptr<Call> take(Kind kind);  // null: there is none

  Fd fd_;
  std::size_t capacity_;
  std::mutex mutex_;
  bool closed_ = false;
  std::deque<std::shared_ptr<Call>> calls_;  // in the order in which they came
};

}  // namespace wattle::controller
