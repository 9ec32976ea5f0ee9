#include "controller/store/background_writer.hpp"

#include <utility>

#include "common/dir.hpp"

namespace wattle::controller {

BackgroundWriter::BackgroundWriter(const Log& log, bool on) : log_(log) {
  if (on) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void BackgroundWriter::post(std::string path, std::string content) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    waiting_[std::move(path)] = std::move(content);
  }
  wake_.notify_one();
}

void BackgroundWriter::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, stop, [this] { return !waiting_.empty(); });
    if (waiting_.empty()) return;
    auto next = waiting_.extract(waiting_.begin());
    lock.unlock();
    const Status written = write_file_atomically(next.key(), next.mapped(), 0600);
    lock.lock();
    const std::string problem = written ? std::string() : written.error().message();
    if (std::exchange(logged_[next.key()], problem) == problem || written) continue;
    lock.unlock();
    log_.error("file.write_failed", "a file was not written", {{"error", written.error()}});
    lock.lock();
  }
}

}  // namespace wattle::controller
