#include "controller/task_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace wattle::controller {

Result<std::unique_ptr<TaskQueue>> TaskQueue::open_(std::size_t capacity) {
  Fd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "eventfd");
  return std::unique_ptr<TaskQueue>(new TaskQueue(std::move(fd), capacity));
}

void TaskQueue::wake() {
  const std::uint64_t one = 1;
  // Fails only if the counter is full; then the owner is awake already.
  [[maybe_unused]] const auto written = write(fd_.get(), &one, sizeof one);
}

Result<std::string> TaskQueue::call(Work work, std::chrono::milliseconds timeout, Kind kind) {
  const auto call = std::make_shared<Call>();
  call->kind = kind;
  call->work = std::move(work);
  auto answer = call->answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return fail(Errc::unavailable, "controller", "is stopping", "retry");
    if (calls_.size() >= capacity_)
      return fail(Errc::unavailable, "controller", "too many requests are waiting", "retry later");
    calls_.push_back(call);
  }
  wake();
  if (answer.wait_for(timeout) == std::future_status::ready) return answer.get();
  const std::lock_guard lock(mutex_);
  if (std::erase(calls_, call) > 0) return fail(Errc::timeout, "controller", "is too busy to answer", "retry");
  if (answer.wait_for(timeout.zero()) == std::future_status::ready) return answer.get();
  return fail(Errc::timeout, "controller", "is still working on it", "check the result, then retry");
}

std::shared_ptr<TaskQueue::Call> TaskQueue::take(Kind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(calls_.begin(), calls_.end(), [&](const auto& call) { return call->kind == kind; });
  if (found == calls_.end()) return nullptr;
  auto call = std::move(*found);
  calls_.erase(found);
  return call;
}

void TaskQueue::run_probes() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
  while (const auto call = take(Kind::probe)) call->answer.set_value(finished(call->work()));
}

Steps TaskQueue::begin() {
  const auto call = take(Kind::document);
  if (!call) return no_steps();
  return [call, document = Document()]() mutable {
    if (!document) document = call->work();
    auto made = document();
    if (made) call->answer.set_value(*std::move(made));
    return !made;
  };
}

bool TaskQueue::waits() {
  const std::lock_guard lock(mutex_);
  return !calls_.empty();
}

void TaskQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  for (const Kind kind : {Kind::probe, Kind::document})
    while (const auto call = take(kind))
      call->answer.set_value(fail(Errc::unavailable, "controller", "is stopping", "retry"));
}

}  // namespace wattle::controller
