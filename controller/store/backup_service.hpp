// backup_service: copies of the store and of the control file, for `wattle backup`, while both are written to.
// Query    backup answers {"folder": ...}, in data_dir, with store.db and control.db in it (docs/reference/api.md); they are whole then
// Errors   in the reply: conflict (one is being made), malformed (an argument), those of the disk
// Threads  single owner; the store copies on its writer's
#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "common/sqlite/copy.hpp"
#include "common/wire/messages.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

class BackupService {
 public:
  // `store` null: nothing outlives the process.
  BackupService(std::string data_dir, Store* store, RolloutManager& rollout)
      : folder_(std::move(data_dir) + "/backup"), store_(store), rollout_(rollout) {}
  struct Done {
    std::string route;
    wire::Reply reply;
  };
  // Nothing: the answer is among done() at some later time, to `route`.
  std::optional<wire::Reply> take(const wire::Query& query, const std::string& who, std::string route);
  // Goes on with a part, with each turn of the loop.
  std::optional<Done> step();

 private:
  struct Making {
    std::string route, who;
    std::uint64_t request_id = 0;
    std::future<Status> store;
    std::optional<sqlite::Copy> control;  // until it is whole
    Status done;                          // of it
  };
  Status begin(Making& making);

  const std::string folder_;
  Store* store_;
  RolloutManager& rollout_;
  std::optional<Making> making_;
};

}  // namespace wattle::controller
