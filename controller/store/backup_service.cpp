#include "controller/store/backup_service.hpp"

#include <chrono>

#include "common/dir.hpp"
#include "common/json/value.hpp"

namespace wattle::controller {

namespace {
constexpr int kControlPages = 256;  // 1 MiB per turn

wire::Reply refusal(std::uint64_t request_id, const Error& why) { return {request_id, false, {}, why.message()}; }
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
    return refusal(query.request_id,
                   {Errc::malformed, "argument " + query.arguments.begin()->first, "unknown argument", ""});
  if (making_)
    return refusal(query.request_id, {Errc::conflict, "backup", "another backup is in progress", "retry later"});
  Making making{std::move(route), who, query.request_id, {}, {}, {}};
  if (const Status begun = begin(making); !begun) return refusal(query.request_id, begun.error());
  making_ = std::move(making);
  return std::nullopt;
}

std::optional<BackupService::Done> BackupService::step() {
  if (!making_) return std::nullopt;
  if (making_->control) {
    const auto whole = making_->control->step(kControlPages);
    if (whole && !*whole) return std::nullopt;
    if (!whole) making_->done = tl::unexpected<Error>(whole.error());
    making_->control.reset();
  }
  if (making_->store.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  const Status stored = making_->store.get();
  const Status done = making_->done ? stored : making_->done;
  rollout_.audit(making_->who, done ? "backup created" : "not done: backup: " + done.error().message(), "");
  wire::Reply reply = done ? wire::Reply{making_->request_id, true, SortedJson{{"folder", folder_}}.dump(), {}}
                           : refusal(making_->request_id, done.error());
  Done out{std::move(making_->route), std::move(reply)};
  making_.reset();
  return out;
}

}  // namespace wattle::controller
