// answers: answers asks and queries of the ask socket, in the order that turns.hpp chooses.
// Rules    common/transport/rights.hpp has the rights to ask, query and confirm
// Errors   a peer with an invalid or forbidden message gets a Refusal, counted and logged once a minute
// Threads  single owner
#pragma once

#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "common/log_throttle.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/messages.hpp"
#include "controller/decisions/confirmed_workloads.hpp"
#include "controller/decisions/decision_keeper.hpp"
#include "controller/guardrails.hpp"
#include "controller/parts.hpp"
#include "controller/publish/feed.hpp"
#include "controller/reply.hpp"
#include "controller/store/backup_service.hpp"
#include "controller/trainer/model_service.hpp"
#include "controller/web/documents.hpp"

namespace wattle::controller {

class Answers {
 public:
  Answers(const Parts& parts, const Feed& feed, Guardrails& guardrails, ModelService& models, DecisionKeeper& keeper,
          ConfirmedWorkloads& confirmed);
  // Returns the messages to send now: one, or none if the answer comes later or no peer waits for it.
  Draft<std::vector<wire::Message>> answer(const transport::Incoming& incoming, Duration waited);
  // Makes a refusal and counts it.
  wire::Message refuse(const transport::Identity& who, transport::Refused reason, Error why);
  // Answers a read request (docs/reference/api.md).
  Document document(const std::string& what, const Arguments& arguments);
  // Takes the finished answers about models, store and backups.
  std::vector<LateReply> late();

 private:
  using Messages = std::vector<wire::Message>;
  Messages answer_ask(wire::Ask ask, const transport::Identity& who, Duration waited);
  Draft<Messages> answer_query(const wire::Query& query, const std::string& who);
  // Answers a query whose result must be on disk first.
  Draft<Messages> answer_kept(const wire::Query& query, const transport::Incoming& incoming);
  Draft<Messages> answer_from_store(const wire::Query& query, const transport::Incoming& incoming);
  Draft<Messages> snapshot(std::uint64_t request_id);
  Result<std::string> beat(const Arguments& facts, const std::string& who);
  Result<std::string> set_mode(const Arguments& arguments, const std::string& who);
  Result<std::string> report(const Arguments& arguments);
  Result<std::string> confirm(const Arguments& arguments);
  Result<std::string> done(const Arguments& arguments);

  const Parts& parts_;
  const Feed& feed_;
  Guardrails& guardrails_;
  ModelService& models_;
  DecisionKeeper& keeper_;
  ConfirmedWorkloads& confirmed_;
  // Queries that the store's thread answers.
  struct StoreRead {
    std::string route;
    transport::Role role;
    std::uint64_t request_id = 0;
    std::future<Result<std::string>> answer;
  };
  std::vector<StoreRead> store_reads_;
  BackupService backups_;
  LogThrottle refusals_logged_{std::chrono::seconds(60)};
};

}  // namespace wattle::controller
