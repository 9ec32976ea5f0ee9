// loop: the one thread that owns sockets, state and decisions.
// Turns    turns.hpp chooses whose message is next; answers.hpp answers asks and queries
// Rules    the allow list is read again when its file changes, each second until that succeeds. A peer that is no
//          longer on it loses session and feed at once
// Errors   a peer with an invalid or forbidden message is refused, counted and logged once a minute; the loop continues
// Threads  constructed by one thread; run() and everything else on the loop's thread
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
#include "common/transport/sockets.hpp"
#include "controller/decisions/confirmed_workloads.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/decisions/decision_keeper.hpp"
#include "controller/decisions/owner_keeper.hpp"
#include "controller/decisions/plan_thread.hpp"
#include "controller/guardrails.hpp"
#include "controller/ingest/allow_watch.hpp"
#include "controller/ingest/overload.hpp"
#include "controller/ingest/sleep_link.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/kube/pod_reconciler.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/provision/provisioning.hpp"
#include "controller/publish/feed.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/shims.hpp"
#include "controller/turns.hpp"
#include "controller/web/live.hpp"
#include "controller/web/series.hpp"

namespace wattle::controller {

class BackgroundWriter;

// File name in data_dir.
inline constexpr std::string_view kClusterModelFile = "cluster-model";

// Endpoints with the ports that the system picked.
struct Endpoints {
  std::string telemetry, feed, ask;
  std::uint16_t http_port = 0;
  std::uint16_t enrol_port = 0;  // 0: enrolment is off
};

class Loop final : private TelemetrySink, private DecisionSink, private PodSink {
 public:
  // The arguments must outlive the loop. `saver` writes the cluster model.
  static Result<std::unique_ptr<Loop>> bind(const ControllerParts& parts, Provisioning& provisioning, TaskQueue& tasks,
                                            BackgroundWriter& saver, placement::ClusterModel cluster_model,
                                            const transport::KeyPair& key);
  // `turned` is called at each turn, about every 50 ms unless the loop hangs.
  void run(const std::atomic<bool>& stop, const std::function<void(MonoTime)>& turned);
  Endpoints endpoints() const;  // without http
  // Continues the page's saved history; call before run().
  void recall_history() { series_.recall_file(parts_.config.data_dir, parts_.log); }
  // For work of the task queue, on the loop's thread.
  const Parts& parts() const { return parts_; }
  // Answers a read request (docs/reference/api.md).
  Document document(const std::string& what, const Arguments& arguments) { return answers_.document(what, arguments); }
  Guardrails& guardrails() { return guardrails_; }
  ~Loop() override;

 private:
  Loop(const ControllerParts& parts, Provisioning& provisioning, TaskQueue& tasks, BackgroundWriter& saver,
       placement::ClusterModel cluster_model, transport::Server telemetry, transport::Server ask,
       transport::Publisher feed);
  void on_hello(const wire::Hello& hello) override;
  bool name(const std::string& node, Record& record) override { return confirmed_.name(node, record); }
  std::size_t fold(const std::string& node, Record& record) override;
  bool enough() override { return turns_.enough(); }
  bool pause() override { return turns_.asks_due(); }
  bool step() override;
  void on_record(const std::string& node, const Record& record) override;
  void on_live(const std::string& node, const Record& record) override;
  void show(const std::string& node, const Record& record, RecordNews news);
  void on_placement(const wire::Placement& placement) override;
  void on_lost(const std::string& node) override;
  void on_goodbye(const std::string& node, const wire::Goodbye& goodbye) override {
    parts_.sleep.goodbye(node, goodbye);
  }
  std::map<std::string, std::string> pod_levels(const std::string& node) override {
    return provisioning_.levels().of(node);
  }
  std::map<std::string, wire::MarginStep> margins(const std::string& node) override {
    return provisioning_.margins().margins(node);
  }
  std::shared_ptr<const Student> student(const std::string& node) override {
    return provisioning_.margins().student(node);
  }
  bool on_decided(const ArmNow& arm, double max_abs_residual) override {
    return guardrails_.decided(arm, max_abs_residual);
  }
  void on_placed(const placement::PodSpec& pod, const std::string& node) override { owners_.placed(pod, node); }
  void on_left(const placement::PodSpec& pod) override;
  void on_bound(const kube::Pod& pod) override;
  void on_elsewhere(const kube::Pod& pod) override;
  void on_gone(const std::string& uid) override;

  void follow_overload();
  void receive_watch();
  void send_acks();
  void tick();
  void save_cluster_model();
  void recall_running();
  // Publishes decisions that were added or extended.
  void report_decisions();
  void cut(const std::vector<transport::Revoked>& revoked);

  Provisioning& provisioning_;
  TaskQueue& tasks_;
  BackgroundWriter& saver_;
  const Parts parts_;  // refers to members below
  transport::Server telemetry_socket_, ask_socket_;
  RoleFigures roles_;
  ClusterState state_;
  Telemetry telemetry_;
  SleepLink sleep_link_{telemetry_, telemetry_socket_};
  PlanThread plans_;
  Decider decider_;
  Shims shims_;
  PodReconciler join_;
  DecisionKeeper keeper_;
  OwnerKeeper owners_;
  ConfirmedWorkloads confirmed_;
  ModelService models_;
  Guardrails guardrails_;
  AllowWatch allow_;
  Feed feed_;
  Series series_;
  Live live_;
  Answers answers_;
  Overload overload_;
  Turns turns_;
  MonoTime ticked_{}, expired_{}, saved_{}, watched_{};
  bool behind_ = false;  // unread telemetry waits
  // A record that is being shown to the other parts.
  struct Shown {
    const std::string& node;
    const Record& record;
    RecordNews news;
    std::size_t appeared = 0, gone = 0;  // pods of `news` that were shown
    bool recorded = false, minutes = false;
  };
  std::optional<Shown> shown_;
};

}  // namespace wattle::controller
