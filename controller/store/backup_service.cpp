#include "controller/store/backup_service.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

#include "common/dir.hpp"
#include "common/json/value.hpp"

namespace wattle::controller {

namespace {
constexpr int kPagesPerTurn = 256;  // 1 MiB

}  // namespace

Status BackupService::begin(Making& making) {
  if (!store_.on())
    return fail(Errc::unavailable, "backup", "this controller keeps no state on disk", "set data_dir and store.path");
  WATTLE_CHECK(make_dirs(folder_, 0700));
  const std::string sizes = folder_ + "/" + std::string(kSizingFile);
  std::error_code ignored;
  std::filesystem::remove(sizes, ignored);  // left by an interrupted backup
  WATTLE_TRY(auto control, rollout_.copy_to(folder_ + "/control.db"));
  WATTLE_TRY(auto sizing, sizing_.copy_to(sizes));
  if (control) making.copies.push_back(std::move(*control));
  if (sizing) making.copies.push_back(std::move(*sizing));
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
  while (!making_->copies.empty()) {
    const auto whole = making_->copies.back().step(kPagesPerTurn);
    if (whole && !*whole) return std::nullopt;
    if (!whole) making_->done = tl::unexpected<Error>(whole.error());
    making_->copies.pop_back();
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
