// loop: the one thread that owns sockets, state and decisions.
// Turns    asks before all, between any two other things that are done; then telemetry for a slice of time, one query, calls of
//          HTTP. Who used least of late is next, within bounds for each peer (loop_turns.cpp, docs/reference/fairness.md)
// Rules    common/transport/rights.hpp says who may ask, query and confirm; the allow list is read again when its file
//          changes, each second until that succeeds: who is not on it any more loses session and feed at once
// Errors   a peer that makes no sense, or may not, is refused, counted and logged once a minute; the loop goes on
// Threads  made by one thread, then run() and everything else by the loop's
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/log_throttle.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/codec.hpp"
#include "controller/config.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/decisions/decision_keeper.hpp"
#include "controller/decisions/owner_keeper.hpp"
#include "controller/decisions/plan_thread.hpp"
#include "controller/ingest/allow_watch.hpp"
#include "controller/ingest/peer_queues.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/ingest/unsent.hpp"
#include "controller/kube/pod_reconciler.hpp"
#include "controller/kube/watch.hpp"
#include "controller/provision/pod_levels.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/publish/feed.hpp"
#include "controller/role_figures.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/shims.hpp"
#include "controller/store/background_writer.hpp"
#include "controller/store/backup_service.hpp"
#include "controller/store/store.hpp"
#include "controller/store/store_queries.hpp"
#include "controller/task_queue.hpp"
#include "controller/trainer/model_service.hpp"
#include "controller/trainer/trainer.hpp"
#include "controller/web/documents.hpp"
#include "controller/web/live.hpp"
#include "controller/web/series.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

// In data_dir.
inline constexpr std::string_view kKnowledgeFile = "knowledge";

// With the ports that the system picked.
struct Endpoints {
  std::string telemetry, feed, ask;
  std::uint16_t http_port = 0;
  std::uint16_t enrol_port = 0;  // 0: nobody enrols
};

struct LoopParts {
  const ControllerConfig& config;
  transport::Context& context;
  TaskQueue& mailbox;
  const ServingModel& networks;
  Trainer* trainer = nullptr;         // null: learning is off
  Store* store = nullptr;             // null: nothing outlives the process
  BackgroundWriter* saver = nullptr;  // null: knowledge ends with the process
  Watch* watch = nullptr;             // null: no API server is followed
  RolloutManager& rollout;
  transport::AllowFile& allow;  // whose list is in force
  http::Broadcast& live;        // who looks at the page
  placement::ClusterModel knowledge;
  std::optional<std::string> former_network_gate;  // the network gate as 0.1 kept it, in a file of its own
  std::string mode_reason;
  const Clock& clock;
  const Log& log;
};

class Loop final : private TelemetrySink {
 public:
  static Result<std::unique_ptr<Loop>> bind(LoopParts parts, const transport::KeyPair& key);
  // `turned` is called at each turn, which is every 50 ms or so while it does not hang.
  void run(const std::atomic<bool>& stop, const std::function<void(MonoTime)>& turned);
  Endpoints endpoints() const;  // without http
  // For work in the mailbox, on the loop's thread.
  Sources sources() const;
  // What reads; docs/reference/api.md.
  Result<std::string> document(const std::string& what, const Arguments& arguments);
  ~Loop() override;

 private:
  Loop(LoopParts parts, transport::Server telemetry, transport::Server ask, transport::Publisher feed);
  void on_hello(const wire::Hello& hello) override;
  std::size_t fold(const std::string& node, Record& record) override;
  bool enough() override { return parts_.clock.mono() >= message_until_; }
  void on_record(const std::string& node, const Record& record) override;
  void on_live(const std::string& node, const Record& record) override;
  void show(const std::string& node, const Record& record, const RecordNews& news);
  void on_placement(const wire::Placement& placement) override;
  void on_lost(const std::string& node) override;
  std::map<std::string, std::string> pod_levels(const std::string& node) override { return levels_.of(node); }

  // loop_turns.cpp
  void read_asks();
  void read_telemetry();
  bool serve_ask(Duration tolerance);
  void serve_asks(Duration slice, Duration tolerance);
  void serve_telemetry();
  void serve_query();
  void serve_http();
  // For what takes long, between its parts: asks that came meanwhile are answered.
  void breathe();
  // To an ask or a query for which there is no room.
  void say_busy(const transport::Incoming& incoming, const std::optional<wire::Head>& head);
  void reply(const std::string& route, transport::Role role, const wire::Message& message);
  Duration charge(PeerQueues& queue, const transport::Identity& peer, MonoTime begun, Duration breathed);
  std::chrono::milliseconds patience(bool more, bool wait) const;
  bool store_is_behind();
  void receive_watch();
  void send_acks();
  void send_late_answers();
  // Nothing: the answer comes later.
  std::optional<wire::Message> answer(const transport::Incoming& incoming, Duration waited);
  wire::Message refuse(const transport::Identity& who, transport::Refused reason, Error why);
  std::optional<wire::Message> answer_ask(wire::Ask ask, const transport::Identity& who, Duration waited);
  wire::Message answer_query(const wire::Query& query, const std::string& who);
  wire::Snapshot snapshot(std::uint64_t request_id);
  Result<std::string> beat(const Arguments& facts, const std::string& who);
  Result<std::string> confirm(const Arguments& arguments);
  void tick();
  void save_knowledge();
  void follow_requests();
  // What gates and monitors have seen, into the control file and back.
  void keep_monitors();
  void restore_monitors();
  // Decisions that are new or know more.
  void tell_decisions();
  void watch_energy();
  void cut(const std::vector<transport::Revoked>& revoked);

  LoopParts parts_;
  transport::Server telemetry_socket_, ask_socket_;
  Unsent answers_;
  PeerQueues asks_, queries_, records_;
  RoleFigures roles_;
  const std::function<void()> breathe_;
  Duration breathed_{};                            // asks took, so far, that were answered within other things
  MonoTime message_until_{};                       // what is left of a message of records then has to wait
  MonoTime breathed_at_{};                         // when they were looked for last
  MonoTime next_query_at_{}, next_document_at_{};  // queries together have a share of the time, and so has HTTP
  bool documents_wait_ = false;
  ClusterState state_;
  Telemetry telemetry_;
  PlanThread plans_;
  Decider decider_;
  Shims shims_;
  PodReconciler join_;
  ModelService models_;
  StoreQueries store_queries_;
  BackupService backups_;
  DecisionKeeper keeper_;
  OwnerKeeper owners_;
  PodLevels levels_;
  std::optional<RequestBook> requests_;  // empty: provisioning.level is off
  AllowWatch allow_;
  Feed feed_;
  Series series_;
  Live live_;
  const std::uint64_t epoch_;
  const MonoTime started_;
  MonoTime ticked_{}, expired_{}, saved_{}, watched_{};
  bool behind_ = false;  // telemetry waits to be read
  std::optional<MonoTime> store_full_since_;
  LogThrottle told_{std::chrono::seconds(60)};  // peers of the ask socket whose refusal has been logged
};

}  // namespace wattle::controller
