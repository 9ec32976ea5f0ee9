#include "controller/power/task_thread.hpp"

#include <utility>

namespace wattle::controller::power {

TaskThread::TaskThread(std::function<void()> cancel, std::size_t threads) : cancel_(std::move(cancel)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

TaskThread::~TaskThread() {
  for (std::jthread& thread : threads_) thread.request_stop();
  cancel_();
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

void TaskThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, stop, [this] { return !waiting_.empty(); });
    if (stop.stop_requested()) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Then then = task();
    lock.lock();
    done_.push_back(std::move(then));
  }
}

}  // namespace wattle::controller::power
