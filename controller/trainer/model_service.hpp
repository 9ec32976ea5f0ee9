// model_service: passes operators' orders about networks from the loop to the trainer's thread, and the replies back,
// without waiting.
// Queries  model-save, model-add, model-load (docs/reference/api.md), which the rollout records in the audit log when
//          done
// Errors   in the reply: malformed (no name, an unknown argument), unavailable (learning is off), and the trainer's
// Threads  single owner
#pragma once

#include <future>
#include <string>
#include <vector>

#include "controller/reply.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/trainer/learning.hpp"

namespace wattle::controller {

class ModelService {
 public:
  ModelService(Learning& learning, RolloutManager& rollout) : learning_(learning), rollout_(rollout) {}
  // `route` is the destination of the reply; done() returns it later.
  void take(const wire::Query& query, const std::string& who, std::string route);
  std::vector<LateReply> done();
  // Applies a promotion or a rollback to the network, without a reply.
  void keep_promoted(bool of_trusted) { follow({ModelOrder::What::promoted, {}, {}, of_trusted}); }
  void bring_back() { follow({ModelOrder::What::bring_back, {}}); }

 private:
  struct Waiting {
    std::string route, who, why;
    std::uint64_t request_id = 0;
    ModelOrder order;
    std::future<Result<std::string>> answer;
    bool replies = true;
  };
  void follow(const ModelOrder& order);
  LateReply finish(Waiting& waiting);
  void audit(const Waiting& waiting, const Result<std::string>& answer);

  Learning& learning_;
  RolloutManager& rollout_;
  std::vector<Waiting> waiting_;
  std::vector<LateReply> refused_;
};

}  // namespace wattle::controller
