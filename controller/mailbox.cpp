#include "controller/mailbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace wattle::controller {

Result<std::unique_ptr<Mailbox>> Mailbox::open_(std::size_t capacity) {
  Fd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "eventfd");
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(fd), capacity));
}

void Mailbox::wake() {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the owner is awake anyhow.
  [[maybe_unused]] const auto written = write(fd_.get(), &one, sizeof one);
}

Result<std::string> Mailbox::call(Work work, std::chrono::milliseconds timeout) {
  const auto call = std::make_shared<Call>();
  call->work = std::move(work);
  auto answer = call->answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return fail(Errc::unavailable, "controller", "is stopping", "ask again");
    if (calls_.size() >= capacity_) return fail(Errc::unavailable, "controller", "too many wait", "ask more slowly");
    calls_.push_back(call);
  }
  wake();
  if (answer.wait_for(timeout) != std::future_status::ready)
    return fail(Errc::timeout, "controller", "is too busy to answer", "ask again");
  return answer.get();
}

std::deque<std::shared_ptr<Mailbox::Call>> Mailbox::take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(fd_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(calls_, {});
}

void Mailbox::run_all() {
  for (const auto& call : take()) call->answer.set_value(call->work());
}

void Mailbox::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  for (const auto& call : take())
    call->answer.set_value(fail(Errc::unavailable, "controller", "is stopping", "ask again"));
}

}  // namespace wattle::controller
