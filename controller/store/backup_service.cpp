#include "controller/store/backup_service.hpp"

#include <chrono>
#include <utility>

#include "common/dir.hpp"
#include "common/json/value.hpp"

namespace wattle::controller {

namespace {
constexpr int kControlPages = 256;  // 1 MiB per turn

}  // namespace

Status BackupService::begin(Making& making) {
  if (!store_.on())
    return fail(Errc::unavailable, "backup", "this controller keeps no state on disk", "set data_dir and store.path");
  WATTLE_CHECK(make_dirs(folder_, 0700));
  WATTLE_TRY(making.control, rollout_.copy_to(folder_ + "/control.db"));
  making.store = store_.copy_to(folder_ + "/store.db");
  return {};
}

std::optional<wire::Reply> BackupService::take(const wire::Query& query, const std::string& who, std::string route) {
  if (!query.arguments.empty())
    return reply_of(query.request_id,
                    fail(Errc::malformed, "argument " + query.arguments.begin()->first, "unknown argument"));
  if (making_)
    return reply_of(query.request_id, fail(Errc::conflict, "backup", "another backup is in progress", "retry later"));
  Making making{std::move(route), who, query.request_id, {}, {}, {}};
  if (Status begun = begin(making); !begun) return reply_of(query.request_id, forward_error(begun));
  making_ = std::move(making);
  return std::nullopt;
}

std::optional<LateReply> BackupService::step() {
  if (!making_) return std::nullopt;
  if (making_->control) {
    const auto whole = making_->control->step(kControlPages);
    if (whole && !*whole) return std::nullopt;
    if (!whole) making_->done = tl::unexpected<Error>(whole.error());
    making_->control.reset();
  }
  if (making_->store.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  const Status stored = making_->store.get();
  Status done = making_->done ? stored : making_->done;
  rollout_.audit(making_->who, done ? "backup created" : "not done: backup: " + done.error().message(), "");
  Result<std::string> made = SortedJson{{"folder", folder_}}.dump();
  if (!done) made = forward_error(done);
  const Making ended = *std::exchange(making_, std::nullopt);
  return LateReply{ended.route, transport::Role::operator_, reply_of(ended.request_id, std::move(made))};
}

}  // namespace wattle::controller
