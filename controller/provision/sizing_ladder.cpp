#include "controller/provision/sizing_ladder.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "controller/provision/sizing_facts.hpp"
#include "controller/provision/sizing_gate.hpp"
#include "controller/provision/sizing_rows.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kSizeEvery = std::chrono::seconds(10);
constexpr Duration kReadPodsFirst = std::chrono::minutes(2);
constexpr double kYoungPod_s = 1800;     // as in `wattle provision set`
constexpr double kSetterSilent_s = 300;  // without a report
constexpr double kSaveOwner_s = 600;
constexpr double kForgetOwner_s = 14 * 86'400.0;
constexpr double kBelowOriginal = 0.99;
constexpr const char* kSizingWho = "right sizes";

bool has_lowered(const SizedOwner& owner) { return !owner.state.lowered.empty(); }

}  // namespace

SizingLadder::SizingLadder(const RequestBook& requests, bool may_set, std::uint64_t seed, std::string path,
                           const Clock& clock, const Log& log, Audit audit)
    : requests_(requests),
      may_set_(may_set),
      seed_(seed),
      path_(std::move(path)),
      clock_(clock),
      log_(log),
      started_(clock.mono()),
      audit_(std::move(audit)) {
  std::error_code ignored;
  if (requests_.on() && std::filesystem::exists(path_, ignored)) load();
}

double SizingLadder::now_s() const { return static_cast<double>(to_ns(clock_.wall())) * 1e-9; }

Status SizingLadder::open_file() {
  if (file_) return {};
  WATTLE_TRY(file_, SizingFile::open_(path_));
  return {};
}

void SizingLadder::load() {
  Status opened = open_file();
  auto rows = opened ? file_->all() : Result<std::vector<SizingRow>>(forward_error(opened));
  if (!rows) {
    problem_ = rows.error().message();
    log_.error("right_size.unreadable", "the states of right sizes cannot be read, so no requests are changed",
               {{"error", rows.error()}});
    return;
  }
  if (const std::size_t unreadable = read_rows(*rows, mode_, owners_); unreadable > 0)
    log_.warn("right_size.rows_unreadable",
              "the states of some owners cannot be read; `wattle provision restore` restores their requests",
              {{"rows", unreadable}});
}

void SizingLadder::follow_clock() {
  const auto step = steps_.take(clock_);
  if (!step) return;
  for (auto& [name, owner] : owners_) {
    owner.state.move(*step);
    owner.harm.move(*step);
    for (auto& [uid, seen] : owner.pods) step->move_s(seen.started_s);
    for (double* at_s : {&owner.report.at_s, &owner.saved_s}) step->move_s(*at_s);
  }
  for (auto& [name, harm] : unchanged_) harm.move(*step);
  for (auto& [name, at_s] : reported_s_) step->move_s(at_s);
  // A restart would count the step as elapsed time.
  if (const Status kept = file_ ? file_->put(rows_of(owners_)) : Status(); !kept) problem_ = kept.error().message();
}

void SizingLadder::described(const kube::Pod& pod) {
  if (!requests_.on()) return;
  follow_clock();
  const std::string name = workload_of(pod);
  auto found = owners_.find(name);
  const bool counts = !pod.uid.empty() && !pod.ended && !pod.leaving && !pod.owner.starts_with("Node/") &&
                      (found != owners_.end() || pod.shrink_allowed);
  if (!counts) return gone(pod.uid);
  if (const auto known = owner_of_.find(pod.uid); known != owner_of_.end() && known->second != name) gone(pod.uid);
  if (found == owners_.end()) {
    if (owners_.size() >= kMostRequestWorkloads || owner_of_.size() >= kMostRequestPods) return;
    found = owners_.try_emplace(name).first;
  }
  owner_of_[pod.uid] = name;
  SeenPod& seen = found->second.pods[pod.uid];
  if (seen.started_s == 0) seen.started_s = now_s();
  if (pod.started_s > 0 && pod.started_s != seen.accepted_s) {
    seen.accepted_s = pod.started_s;
    seen.started_s = static_cast<double>(pod.started_s);
  }
  seen.pod.uid = pod.uid;
  seen.pod.request = {pod.cpu_request_cores, pod.memory_request_bytes};
  seen.pod.answer = pod_answer(pod.resize);
  seen.pod.message = pod.resize_message;
}

void SizingLadder::gone(const std::string& uid) {
  const auto found = owner_of_.find(uid);
  if (found == owner_of_.end()) return;
  if (const auto owner = owners_.find(found->second); owner != owners_.end()) owner->second.pods.erase(uid);
  owner_of_.erase(found);
}

void SizingLadder::record(const Node& node) {
  const double seconds = static_cast<double>(node.interval_ns) * 1e-9;
  if (!(seconds > 0) || mode_.mode.mode == Mode::off) return;
  follow_clock();
  const double now = now_s();
  for (const std::string& uid : node.pods) {
    const std::string* name = requests_.workload_with(uid);
    const auto reported = node.workloads.find(uid);
    if (name == nullptr || reported == node.workloads.end() || reported->second.missing) continue;
    const WorkloadValues& values = reported->second.values;
    const auto found = owners_.find(*name);
    if (found == owners_.end()) {
      unchanged_[*name].add(harm_shares(values, seconds), seconds, now);
      continue;
    }
    SizedOwner& owner = found->second;
    if (has_lowered(owner) && !owner.state.lowered.contains(uid)) continue;
    owner.harm.add(harm_shares(values, seconds), seconds, now);
    if (values.memory_oom_kills.value_or(0) > 0) owner.harm.killed(now);
    if (owner.goal && owner.state.state == SizingState::watched)
      add_shadow(owner.state.shadow, *owner.goal, reported->second, seconds, now);
  }
}

Steps SizingLadder::tick() {
  follow_clock();
  const MonoTime now = clock_.mono();
  if (ticked_ && now - *ticked_ < kSizeEvery) return no_steps();
  ticked_ = now;
  const auto tally = std::make_shared<Tally>(this->tally(now_s()));
  return in_order({each_of(owners_,
                           [this, tally](auto& item) {
                             follow_clock();
                             look_at(item.first, item.second, *tally);
                           }),
                   [this, tally] {
                     keep_due(*tally);
                     forget();
                     return false;
                   }});
}

SizingLadder::Tally SizingLadder::tally(double now_s) const {
  Tally tally;
  for (const auto& [name, owner] : owners_) {
    tally.busy += placement::is_busy(owner.state, now_s, options_) ? 1 : 0;
    tally.in_flight += placement::pods_in_flight(owner.state);
    tally.ordered += placement::pods_ordered(owner.state, now_s);
  }
  tally.control = control();
  return tally;
}

placement::HarmControl SizingLadder::control() const {
  placement::HarmControl sum;
  double owners = 0;
  const auto add = [&](const placement::HarmWatch& harm) {
    if (!harm.known()) return;
    const auto fast = harm.fast(), slow = harm.slow(), hour = harm.hour();
    for (std::size_t kind = 0; kind < placement::kHarms; ++kind) {
      sum.fast[kind] += fast[kind] - hour[kind];
      sum.slow[kind] += slow[kind] - hour[kind];
    }
    owners += 1;
  };
  for (const auto& [name, harm] : unchanged_) add(harm);
  for (const auto& [name, owner] : owners_)
    if (!has_lowered(owner)) add(owner.harm);
  if (owners == 0) return {};
  for (placement::HarmShares* shares : {&sum.fast, &sum.slow})
    for (double& share : *shares) share /= owners;
  return sum;
}

bool SizingLadder::is_silent(const std::string& name_space, double now_s) const {
  const auto found = reported_s_.find(name_space);
  return found == reported_s_.end() || std::abs(now_s - found->second) > kSetterSilent_s;
}

std::string SizingLadder::withdrawn(const std::string& name, const RequestWorkload* workload) const {
  if (!may_set_) return "provisioning.level is not requests";
  if (mode_.mode.mode < Mode::canary) return "the mode is " + mode_.mode.text();
  if (mode_.mode.mode == Mode::canary && !placement::in_share(name, seed_, mode_.mode.share))
    return "the owner is not in the " + mode_.mode.text();
  if (workload == nullptr) return {};
  if (!workload->shrink_allowed) return "not all of its pods have the annotation wattle.dev/shrink: allowed";
  if (const auto level = level_apart(*workload); level != kube::PodProvision::unsaid)
    return "its pods have the annotation wattle.dev/provision: " + std::string(to_string(level));
  return {};
}

std::string SizingLadder::barred(const SizedOwner& owner, const RequestWorkload& workload) const {
  if (!problem_.empty()) return problem_;
  if (is_silent(workload.name_space, now_s()))
    return "no `wattle provision set --follow` has reported for namespace " + workload.name_space +
           " within five minutes";
  if (workload.qos == "BestEffort") return "its QoS class is BestEffort";
  const bool below = workload.request.cpu_cores < kBelowOriginal * workload.original.cpu_cores ||
                     workload.request.memory_bytes < kBelowOriginal * workload.original.memory_bytes;
  if (!has_lowered(owner) && workload.resizes.set > 0 && below)
    return "its requests were set by hand (restore them with `wattle provision restore`)";
  return {};
}

placement::OwnerFacts SizingLadder::facts_of(const std::string& name, const SizedOwner& owner,
                                             const Tally& tally) const {
  placement::OwnerFacts facts;
  const double now = now_s();
  const auto found = requests_.workloads().find(name);
  const RequestWorkload* workload = found == requests_.workloads().end() ? nullptr : &found->second;
  facts.withdrawn = withdrawn(name, workload);
  facts.complete = clock_.mono() - started_ >= kReadPodsFirst;
  if (workload != nullptr) {
    facts.barred = barred(owner, *workload);
    facts.original = workload->original;
    facts.limits_follow = workload->qos == "Guaranteed";
    add_rule(facts, workload->rule);
  }
  const SetterReport& report = owner.report;
  if (report.at_s > 0 && std::abs(now - report.at_s) <= kSetterSilent_s) {
    const bool held = report.state == "held";  // restored by hand
    if (held || report.state == "refused" || report.state == "infeasible") facts.refused = report.why;
    facts.restored = (held || report.state == "restored") && report.at_s >= owner.state.since_s;
  }
  for (const auto& [uid, seen] : owner.pods) {
    facts.pods.push_back(seen.pod);
    facts.pods.back().young = now - seen.started_s < kYoungPod_s;
  }
  const std::size_t most = mode_.mode.mode == Mode::canary ? options_.canary_owners : options_.live_owners;
  facts.turn = tally.busy < most;
  facts.others_in_flight = tally.in_flight - placement::pods_in_flight(owner.state);
  facts.others_ordered = tally.ordered - placement::pods_ordered(owner.state, now);
  facts.harm = &owner.harm;
  facts.control = tally.control;
  return facts;
}

void SizingLadder::look_at(const std::string& name, SizedOwner& owner, Tally& tally) {
  const double now_s = this->now_s();
  const placement::OwnerFacts facts = facts_of(name, owner, tally);
  const std::size_t busy = placement::is_busy(owner.state, now_s, options_) ? 1 : 0;
  const std::size_t flying = placement::pods_in_flight(owner.state),
                    ordered = placement::pods_ordered(owner.state, now_s);
  placement::SizingStep next = placement::step(owner.state, facts, now_s, options_);
  owner.goal = placement::goal_of(next.state, facts);
  owner.waits = placement::waits_for(next.state, facts, now_s, options_);
  const bool moved = !next.notes.empty() || next.state.state != owner.state.state ||
                     next.state.lowered.size() != owner.state.lowered.size() || next.state.ordered_s.size() > ordered;
  if (moved || (mode_.mode.mode != Mode::off && now_s - owner.saved_s >= kSaveOwner_s)) {
    const SizingRow row = row_of(name, next.state, owner.harm);
    if (moved) {
      const Status opened = open_file();
      const Status kept = opened ? file_->put({&row, 1}) : opened;
      problem_ = kept ? std::string() : kept.error().message();
      if (!kept)
        log_.error("right_size.unwritten", "the state of an owner cannot be written", {{"error", kept.error()}});
      // Only an order that restores may be carried out if it was not stored.
      if (!kept && next.state.state != SizingState::restoring) return;
    } else {
      tally.rows.push_back(row);
    }
    owner.saved_s = now_s;
  }
  owner.state = std::move(next.state);
  tally.busy += (placement::is_busy(owner.state, now_s, options_) ? 1U : 0U) - busy;
  tally.in_flight += placement::pods_in_flight(owner.state) - flying;
  tally.ordered += placement::pods_ordered(owner.state, now_s) - ordered;
  for (const placement::SizingNote& note : next.notes) {
    audit(kSizingWho, name + ": " + note.what, note.why);
    if (note.alarm)
      log_.error("right_size.alarm", "the requests of an owner need attention",
                 {{"owner", name}, {"what", note.what}, {"why", note.why}});
    else
      log_.info("right_size.changed", "an owner's requests change",
                {{"owner", name}, {"what", note.what}, {"why", note.why}});
  }
}

void SizingLadder::keep_due(Tally& tally) {
  if (tally.rows.empty()) return;
  const Status opened = open_file();
  const Status kept = opened ? file_->put(tally.rows) : opened;
  problem_ = kept ? std::string() : kept.error().message();
}

// Drops owners without pods, and watches of owners that no longer exist.
void SizingLadder::forget() {
  follow_clock();
  const double now_s = this->now_s();
  std::vector<SizingRow> rows;
  std::erase_if(owners_, [&](const auto& item) {
    const SizedOwner& owner = item.second;
    if (!owner.pods.empty() || std::abs(now_s - std::max(owner.state.since_s, owner.saved_s)) < kForgetOwner_s)
      return false;
    rows.push_back({item.first, ""});
    return true;
  });
  if (!rows.empty() && file_) static_cast<void>(file_->put(rows).has_value());
  std::erase_if(unchanged_, [&](const auto& item) {
    return owners_.contains(item.first) || !requests_.workloads().contains(item.first);
  });
}

Status SizingLadder::save_mode(const LadderMode& mode) {
  WATTLE_CHECK(open_file());
  const SizingRow row = row_of(mode);
  return file_->put({&row, 1});
}

Status SizingLadder::set_mode(const Arguments& arguments, const std::string& who) {
  follow_clock();
  if (!requests_.on())
    return fail(Errc::not_found, "provision", "provisioning.level is off", "set provisioning.level: requests");
  WATTLE_TRY(const std::string text, required(arguments, "mode", "off, shadow, canary:P% or live"));
  WATTLE_TRY(const ModeSetting to, parse_mode(text));
  const std::string why = argument(arguments, "why").substr(0, kMostSizingReason);
  const bool force = argument(arguments, "force") == "yes";
  if (to == mode_.mode) return {};
  if (to.mode > Mode::shadow && !may_set_)
    return fail(Errc::denied, "mode " + text, "provisioning.level is not requests",
                "set it in the controller's configuration; the chart does so with requests.namespaces");
  const double now = now_s();
  const std::string closed = closed_to(to, mode_.mode, owners_, now, options_);
  const std::string what = "right sizes: mode " + mode_.mode.text() + " -> " + to.text();
  if (!closed.empty() && !force) {
    audit(who, what + " refused", closed);
    return fail(Errc::denied, "mode " + text, "its gate is closed: " + closed,
                "wait (`wattle provision mode` shows the owners), or skip the gate with --force --why TEXT");
  }
  if (!closed.empty() && why.empty())
    return fail(Errc::malformed, "mode " + text, "--force needs a reason", "pass --why TEXT");
  LadderMode next{to, now, who, why};
  const bool back = to.mode < mode_.mode.mode || (to.mode == mode_.mode.mode && to.share < mode_.mode.share);
  const Status saved = save_mode(next);
  problem_ = saved ? std::string() : saved.error().message();
  if (!saved && !back) return saved;
  if (!saved) log_.error("right_size.unwritten", "the state of an owner cannot be written", {{"error", saved.error()}});
  mode_ = std::move(next);
  ticked_.reset();  // the next turn acts on it
  audit(who, what + (closed.empty() ? "" : ", forced despite: " + closed), why);
  log_.info("right_size.mode", "the mode of right sizes has changed",
            {{"mode", to.text()}, {"who", who}, {"why", why}});
  return {};
}

Status SizingLadder::report(const std::string& body) {
  if (!requests_.on())
    return fail(Errc::not_found, "provision", "provisioning.level is off", "set provisioning.level: requests");
  WATTLE_TRY(SetterReports reports, parse_report(body));
  follow_clock();
  reported_s_[reports.name_space] = now_s();
  for (auto& [name, said] : reports.workloads) {
    const auto owner = owners_.find(name);
    if (owner == owners_.end()) continue;
    owner->second.report = std::move(said);
    owner->second.report.at_s = now_s();
  }
  return {};
}

Result<std::optional<sqlite::Copy>> SizingLadder::copy_to(const std::string& path) {
  std::error_code ignored;
  if (!file_ && (!problem_.empty() || !std::filesystem::exists(path_, ignored))) return std::optional<sqlite::Copy>();
  WATTLE_CHECK(open_file());
  return file_->copy_to(path);
}

std::vector<std::string> SizingLadder::alarms() const {
  const double now = now_s();
  return sizing_alarms(
      owners_, [&](const std::string& name_space) { return is_silent(name_space, now); }, now);
}

const SizedOwner* SizingLadder::owner(const std::string& name) const {
  const auto found = owners_.find(name);
  return found == owners_.end() ? nullptr : &found->second;
}

void SizingLadder::audit(const std::string& who, const std::string& what, const std::string& why) {
  if (audit_) audit_(who, what, why);
}

}  // namespace wattle::controller
