#include "controller/power/task_thread.hpp"

#include <utility>

namespace wattle::controller::power {

TaskThread::TaskThread(std::function<void()> cancel, std::size_t threads) : cancel_(std::move(cancel)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

TaskThread::~TaskThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    waiting_.clear();
  }
  cancel_();
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TaskThread::post(Task task) {
  ++posted_;
  if (threads_.empty()) return done_.push_back(task());
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  wake_.notify_one();
}

std::vector<TaskThread::Then> TaskThread::done() {
  const std::lock_guard lock(mutex_);
  posted_ -= done_.size();
  return std::exchange(done_, {});
}

void TaskThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Then then = task();
    lock.lock();
    done_.push_back(std::move(then));
  }
}

}  // namespace wattle::controller::power
