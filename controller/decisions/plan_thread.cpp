#include "controller/decisions/plan_thread.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace wattle::controller {

namespace {
constexpr int kNice = 10;
}

PlanThread::PlanThread(placement::PlannerOptions options)
    : options_(options), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void PlanThread::want(const placement::Fleet& fleet) {
  {
    const std::lock_guard lock(mutex_);
    if (busy_) return;
    busy_ = true;
    wanted_ = fleet;
  }
  wake_.notify_one();
}

std::shared_ptr<const placement::Plan> PlanThread::newest() {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void PlanThread::run(const std::stop_token& stop) {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);  // decisions have priority; a failure is harmless
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, stop, [this] { return wanted_.has_value(); });
    if (stop.stop_requested()) return;
    const placement::Fleet fleet = std::move(*wanted_);
    wanted_.reset();
    const auto former = newest_;
    lock.unlock();
    auto made = std::make_shared<const placement::Plan>(options_, fleet, former.get());
    lock.lock();
    newest_.swap(made);
    busy_ = false;
  }
}

}  // namespace wattle::controller
