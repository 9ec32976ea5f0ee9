#include "controller/ingest/allow_watch.hpp"

#include <utility>

#include "controller/descriptors.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);

}  // namespace

std::vector<transport::Revoked> AllowWatch::look(MonoTime now) {
  if (now - looked_ < kLookEvery) return {};
  looked_ = now;
  context_.end_guests(now);
  auto list = file_.look();
  if (!list) {
    const std::string why = list.error().message();
    if (why != std::exchange(problem_, why))
      log_.error("allow.reload_failed",
                 "the allow list cannot be read; the old list stays in force, including removed keys",
                 {{"error", list.error()}});
    return {};
  }
  problem_.clear();
  if (!*list) return {};
  log_.info("allow.reloaded", "the allow list has been reloaded",
            {{"keys", static_cast<std::uint64_t>((*list)->size())}});
  warn_of_few_descriptors(**list, descriptor_limit_, log_);
  std::vector<transport::Revoked> revoked = context_.set_allow_list(std::move(**list));
  revoked_ += revoked.size();
  return revoked;
}

}  // namespace wattle::controller
