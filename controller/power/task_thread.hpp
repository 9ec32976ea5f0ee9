// task_thread: runs calls that take long or block away from the loop, one after the other, and returns their results to
// it.
// Errors   none; a task reports its own
// Threads  post() and done() of one thread; the destructor calls `cancel`, waits for the running task and drops the
//          waiting ones
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace wattle::controller::power {

class TaskThread {
 public:
  // A task returns what the owner then calls.
  using Then = std::function<void()>;
  using Task = std::function<Then()>;
  // `cancel` makes the running task end soon; it is called on the owner's thread.
  explicit TaskThread(std::function<void()> cancel);
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
  ~TaskThread();
  void post(Task task);
  // Returns the results of tasks since the last call, in order.
  std::vector<Then> done();

 private:
  void run();

  const std::function<void()> cancel_;
  std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  bool stop_ = false;
  std::deque<Task> waiting_;
  std::vector<Then> done_;
  std::thread thread_;
};

}  // namespace wattle::controller::power
