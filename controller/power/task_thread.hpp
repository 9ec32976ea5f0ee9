// task_thread: runs long or blocking calls outside the loop, and returns their results to it. With one thread
// they run one after the other, with more several at once; without one, post() itself runs them, for tests.
// Errors   none; a task reports its own
// Threads  post(), done() and busy() of one thread; the destructor calls `cancel`, waits for the running tasks and
//          drops the waiting ones
#pragma once

#include <condition_variable>
#include <cstddef>
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
  // `cancel` makes running tasks end soon; it is called on the owner's thread.
  explicit TaskThread(std::function<void()> cancel, std::size_t threads = 1);
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
  ~TaskThread();
  void post(Task task);
  // Returns the results of tasks since the last call, in order.
  std::vector<Then> done();
  // Returns whether done() has yet to return the result of a task.
  bool busy() const { return posted_ > 0; }

 private:
  void run(const std::stop_token& stop);

  const std::function<void()> cancel_;
  std::size_t posted_ = 0;  // tasks whose results done() has not returned
  std::mutex mutex_;        // guards all members below
  std::condition_variable_any wake_;
  std::deque<Task> waiting_;
  std::vector<Then> done_;
  std::vector<std::jthread> threads_;
};

}  // namespace wattle::controller::power
