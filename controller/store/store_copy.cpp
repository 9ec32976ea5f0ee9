// store_copy: the part of Store that copies its file for `wattle backup`, some pages at a time on the writer's thread,
// between its transactions.
#include "controller/store/store.hpp"

namespace wattle::controller {

namespace {
constexpr int kCopyPages = 256;  // 1 MiB between two commits
}  // namespace

std::future<Status> Store::copy_to(std::string path) {
  std::future<Status> done;
  {
    const std::lock_guard lock(mutex_);
    copy_order_.emplace(CopyOrder{std::move(path), {}});
    done = copy_order_->done.get_future();
  }
  wake_.notify_one();
  return done;
}

Result<bool> Store::copy_part(const std::string& path) {
  if (!file_) return fail(Errc::unavailable, options_.file.path, "cannot be read now", "see wattle doctor");
  if (!copy_) {
    WATTLE_TRY(copy_, file_->copy_to(path));
  }
  return copy_->step(kCopyPages);
}

void Store::copy_some() {
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    if (!copy_order_) return;
    path = copy_order_->path;
  }
  const auto whole = copy_part(path);
  if (whole && !*whole) return;
  copy_.reset();
  const std::lock_guard lock(mutex_);
  copy_order_->done.set_value(whole ? Status() : tl::unexpected<Error>(whole.error()));
  copy_order_.reset();
}

}  // namespace wattle::controller
