// backup_service: copies the databases of the controller for `wattle backup` while they are in use.
// Query    backup answers {"folder": ...}, in data_dir, with complete copies store.db, control.db and right-sizes.db
//          (docs/reference/api.md)
// Errors   in the reply: conflict (a backup is running), malformed (an argument), those of the disk
// Threads  single owner; the store is copied on its writer's thread
#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "common/sqlite/copy.hpp"
#include "controller/provision/sizing_ladder.hpp"
#include "controller/reply.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

class BackupService {
 public:
  BackupService(std::string data_dir, Store& store, RolloutManager& rollout, SizingLadder& sizing)
      : folder_(std::move(data_dir) + "/backup"), store_(store), rollout_(rollout), sizing_(sizing) {}
  // No value: the answer comes later from step(), for `route`.
  std::optional<wire::Reply> take(const wire::Query& query, const std::string& who, std::string route);
  // Copies the next part; call in each turn of the loop.
  std::optional<LateReply> step();

 private:
  struct Making {
    std::string route, who;
    std::uint64_t request_id = 0;
    std::future<Status> store;
    std::vector<sqlite::Copy> copies;  // running copies of the loop's databases
    Status done;                       // result of those copies
  };
  Status begin(Making& making);

  const std::string folder_;
  Store& store_;
  RolloutManager& rollout_;
  SizingLadder& sizing_;
  std::optional<Making> making_;
};

}  // namespace wattle::controller
