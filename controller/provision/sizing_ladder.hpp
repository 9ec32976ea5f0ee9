// sizing_ladder: applies suggested requests that are lower than the pods' own, in modes: off, shadow, canary and live.
// Rules    provision/requests/right_size decides per owner; this class collects its facts and bounds all owners
// Source   suggestions (request_book); pods as the API server describes them; records of their nodes, for throttling,
//          waiting and OOM kills; reports of `wattle provision set --follow`
// Acts     the client `wattle provision set --follow` asks for orders and carries them out; the controller writes to no
//          pod. The state of an owner is in the file before its order can be read
// Modes    shadow: records what the pods would have experienced with smaller requests. canary: lowers the requests of a
//          share of the owners, one at a time. live: of all owners. Owners that a mode does not include get their
//          original requests back
// Opt-in   the owner's namespace has such a client, and each pod the annotation wattle.dev/shrink: allowed
// Restart  continues from the file; owners are not changed in the first two minutes, while pods are read
// Clock    wall time, because states outlive the program; their times move with a step of it
// Errors   set_mode: malformed, denied (a gate, provisioning.level), io; an order to an earlier mode applies even if
//          the file cannot be written. While the file cannot be read or written, no request is lowered
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/pod.hpp"
#include "common/log.hpp"
#include "common/wall_step.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/provision/sizing_file.hpp"
#include "controller/rollout/rollout_spec.hpp"
#include "controller/steps.hpp"
#include "controller/web/arguments.hpp"
#include "provision/requests/right_size.hpp"

namespace wattle::controller {

using placement::SizingState;

inline constexpr std::uint64_t kSizingBodyVersion = 1;  // of the rows in the file

inline constexpr std::size_t kMostSizingReportBytes = 1 << 20;
// File name in data_dir.
inline constexpr std::string_view kSizingFile = "right-sizes.db";

struct SeenPod {
  placement::SizedPod pod;
  std::int64_t accepted_s = 0;  // by its kubelet, on that clock
  double started_s = 0;         // the same; if unknown, when it was first seen here
};

// Last report of the client that sets requests.
struct SetterReport {
  std::string state, why;
  double at_s = 0;  // 0: none
};

struct SizedOwner {
  placement::OwnerSizing state;
  std::map<std::string, SeenPod> pods;  // by UID
  placement::HarmWatch harm;            // of the lowered pods, or of all while none is lowered
  SetterReport report;
  std::string waits;                         // why it is not changed (further); empty: it is
  std::optional<placement::Resources> goal;  // per pod
  double saved_s = 0;
};

struct LadderMode {
  ModeSetting mode{Mode::off};
  double since_s = 0;
  std::string who, why;
};

class SizingLadder {
 public:
  using Audit = std::function<void(const std::string& who, const std::string& what, const std::string& why)>;
  // `path`: the file, which the first order creates. `may_set`: provisioning.level is requests. `audit` records
  // orders; unset: they are not recorded.
  SizingLadder(const RequestBook& requests, bool may_set, std::uint64_t seed, std::string path, const Clock& clock,
               const Log& log, Audit audit = {});

  // Call for each bound pod, and again when the pod changes.
  void described(const kube::Pod& pod);
  void gone(const std::string& uid);
  // Adds a complete interval of the node.
  void record(const Node& node);
  // Takes a step for each owner every ten seconds.
  Steps tick();

  // Arguments: mode, why, force.
  Status set_mode(const Arguments& arguments, const std::string& who);
  // Records the report of the client that sets requests: {"namespace": ..., "workloads": {NAME: {"state", "why"}}}.
  Status report(const std::string& body);
  // Copies the file; no value if there is none, or it cannot be read.
  Result<std::optional<sqlite::Copy>> copy_to(const std::string& path);

  const LadderMode& mode() const { return mode_; }
  bool may_set() const { return may_set_; }
  const std::map<std::string, SizedOwner>& owners() const { return owners_; }
  // Null if the owner has not opted in and was never changed.
  const SizedOwner* owner(const std::string& name) const;
  std::vector<std::string> alarms() const;
  const std::string& problem() const { return problem_; }  // why the file cannot be used; empty: it can
  double now_s() const;

 private:
  // Counts over all owners while a tick iterates over them.
  struct Tally {
    std::size_t busy = 0, in_flight = 0, ordered = 0;
    placement::HarmControl control;
    std::vector<SizingRow> rows;
  };
  void load();
  Status open_file();
  Tally tally(double now_s) const;
  placement::HarmControl control() const;
  placement::OwnerFacts facts_of(const std::string& name, const SizedOwner& owner, const Tally& tally) const;
  std::string withdrawn(const std::string& name, const RequestWorkload* workload) const;
  std::string barred(const SizedOwner& owner, const RequestWorkload& workload) const;
  void look_at(const std::string& name, SizedOwner& owner, Tally& tally);
  void keep_due(Tally& tally);
  void forget();
  // Moves all times with a step of the wall clock. Every call that uses them does so first.
  void follow_clock();
  bool is_silent(const std::string& name_space, double now_s) const;
  Status save_mode(const LadderMode& mode);
  void audit(const std::string& who, const std::string& what, const std::string& why);

  const RequestBook& requests_;
  bool may_set_;
  std::uint64_t seed_;
  std::string path_;
  const Clock& clock_;
  const Log& log_;
  placement::SizingOptions options_;
  MonoTime started_;
  std::optional<MonoTime> ticked_;
  WallSteps steps_;
  std::optional<SizingFile> file_;
  std::string problem_;
  LadderMode mode_;
  std::map<std::string, SizedOwner> owners_;
  std::unordered_map<std::string, std::string> owner_of_;  // by UID
  std::map<std::string, placement::HarmWatch> unchanged_;  // of owners that have not opted in
  std::map<std::string, double> reported_s_;               // last report by namespace
  Audit audit_;
};

}  // namespace wattle::controller
