#include "controller/power/sleep_control.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "common/http/target.hpp"
#include "common/json/value.hpp"
#include "controller/power/configured_power.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller::power {

namespace core = placement::sleep;

namespace {

constexpr std::chrono::milliseconds kApiTimeout{10'000};
constexpr std::size_t kMostPages = 100;
constexpr std::size_t kMostWords = 500;
constexpr const char* kSleepLabel = "wattle.dev/sleep";
constexpr std::array<const char*, 2> kControlPlaneLabels{"node-role.kubernetes.io/control-plane",
                                                         "node-role.kubernetes.io/master"};
constexpr std::array<const char*, 2> kDeviceLabels{"nvidia.com/gpu.product", "amd.com/gpu.product-name"};

// A label at the API server, or else in the configuration of the node's agent. No value: neither has it.
std::optional<std::string> label_of(const controller::Node& node, const char* key) {
  if (node.kube != nullptr)
    if (const auto found = node.kube->labels.find(key); found != node.kube->labels.end()) return found->second;
  const auto found = node.hello.labels.find(key);
  return found == node.hello.labels.end() ? std::nullopt : std::optional(found->second);
}

// All labels, by which drivers are chosen; those at the API server rank above the agent's.
std::map<std::string, std::string> labels_of(const controller::Node& node) {
  std::map<std::string, std::string> labels;
  if (node.kube != nullptr) labels = node.kube->labels;
  labels.insert(node.hello.labels.begin(), node.hello.labels.end());
  return labels;
}

std::string words_of(const std::map<std::string, std::string>& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::string() : found->second.substr(0, kMostWords);
}

std::int64_t unix_s(WallTime at) { return to_ns(at) / 1'000'000'000; }

Result<std::vector<DisruptionBudget>> list_budgets(kube::HttpApi& api) {
  const std::string path = "/apis/policy/v1/poddisruptionbudgets", first = path + "?limit=500";
  std::vector<DisruptionBudget> all;
  std::string target = first;
  for (std::size_t i = 0; i < kMostPages; ++i) {
    WATTLE_TRY(const kube::Reply reply, api.get(target));
    if (reply.status == 401 || reply.status == 403)
      return fail(Errc::denied, path, "the API server returned HTTP " + std::to_string(reply.status),
                  "set sleep.mode in the chart, which grants the right to list PodDisruptionBudgets");
    if (reply.status != 200)
      return fail(Errc::unavailable, path, "the API server returned HTTP " + std::to_string(reply.status));
    WATTLE_TRY(BudgetPage page, parse_budgets(reply.body));
    std::move(page.unsatisfied.begin(), page.unsatisfied.end(), std::back_inserter(all));
    if (page.next.empty()) break;
    target = first + "&continue=" + http::percent_encode(page.next);
  }
  return all;
}

// The record of a node that runs: no node is put to sleep.
core::NodePowerRecord awake_record(const std::string& name, WallTime now) {
  core::NodePowerRecord record;
  record.node = name;
  record.state = core::PowerState::awake;
  record.since = now;
  return record;
}

}  // namespace

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

SleepControl::SleepControl(Around around) : around_(std::move(around)), pods_(around_.own_host) {
  if (!on()) return;
  if (around_.api) api_ = std::make_unique<kube::HttpApi>(*around_.api, kApiTimeout, kApiTimeout);
  if (const auto& drivers = around_.settings.drivers) {
    auto power = around_.power ? around_.power : std::make_shared<ConfiguredPower>(*drivers, around_.clock);
    probes_ = std::make_unique<NodeProbes>(drivers, std::move(power), around_.clock);
  }
  planner_ = std::make_unique<TaskThread>([this] {
    if (api_) api_->stop();
    if (probes_) probes_->stop();
  });
  if (around_.store.on()) load();
}

void SleepControl::load() {
  const Result<std::string> plan = around_.store
                                       .read([this](StoreFile& file) -> Result<std::string> {
                                         WATTLE_TRY(exclusions_, file.sleeps().exclusions());
                                         return file.sleeps().plan();
                                       })
                                       .get();
  if (!plan) {
    around_.log.error("sleep.not_restored", "excluded nodes and the outlook of demand cannot be read from the store",
                      {{"error", plan.error()}});
    return;
  }
  placement::PackReader in(*plan);
  core::DemandOutlook outlook;
  outlook.unpack(in);
  if (in.done()) outlook_ = std::move(outlook);
}

void SleepControl::described(const kube::Pod& pod) {
  if (on()) pods_.put(pod);
}

void SleepControl::gone(const std::string& uid) {
  if (on()) pods_.erase(uid);
}

core::SleepFacts SleepControl::facts_of(const std::string& name, const controller::Node& node) const {
  core::SleepFacts facts;
  const auto asked = parse_sleep_label(label_of(node, kSleepLabel).value_or("off")).value_or(core::SleepMode::off);
  facts.mode = std::min(asked, around_.settings.mode);
  facts.can_sleep = facts.can_wake = probes_ == nullptr;
  for (const char* key : kControlPlaneLabels) facts.control_plane = facts.control_plane || label_of(node, key);
  for (const char* key : kDeviceLabels)
    if (facts.device_class.empty()) facts.device_class = label_of(node, key).value_or("");
  pods_.judge(name, unsatisfied_, facts);
  if (const auto found = exclusions_.find(name); found != exclusions_.end()) facts.excluded_by = found->second;
  return facts;
}

Steps SleepControl::tick(const ClusterState& state) {
  if (!on()) return no_steps();
  for (const TaskThread::Then& then : planner_->done()) then();
  const MonoTime now = around_.clock.mono();
  if (planning_ || (planned_ && now - *planned_ < (plans_ < kFirstPlans ? kPlanSoon : kPlanEvery))) return no_steps();
  planning_ = true;
  planned_ = now;
  const auto snapshot = std::make_shared<SleepSnapshot>();
  snapshot->now = around_.clock.wall();
  snapshot->config = around_.settings.plan;
  Steps nodes = each_of(state.nodes(), [this, snapshot, now, &state](const auto& item) {
    const auto& [name, node] = item;
    const bool fresh = node.connected && node.sampled_at && seconds(now - *node.sampled_at) <= around_.stale_after_s;
    core::SleepFacts facts = facts_of(name, node);
    if (probes_ && facts.mode != core::SleepMode::off) snapshot->to_probe.push_back({{name, labels_of(node)}, !fresh});
    add_node(*snapshot, state, node, std::move(facts), awake_record(name, snapshot->now),
             fresh && state.view_of(node).ready);
  });
  return then(std::move(nodes), [this, snapshot, &state] {
    add_pending(*snapshot, state, around_.api.has_value());
    make(snapshot);
    return no_steps();
  });
}

void SleepControl::make(const std::shared_ptr<SleepSnapshot>& snapshot) {
  outlook_.observe(requested_cores(*snapshot), snapshot->now);
  snapshot->outlook = outlook_;
  if (around_.store.on()) {
    placement::PackWriter out;
    outlook_.pack(out);
    around_.store.read([body = out.take(), at_s = unix_s(snapshot->now)](StoreFile& file) -> Result<std::string> {
      WATTLE_CHECK(file.sleeps().keep_plan(body, at_s));
      return std::string();
    });
  }
  planner_->post([this, snapshot]() -> TaskThread::Then {
    using Budgets = std::optional<Result<std::vector<DisruptionBudget>>>;
    const auto listed = std::make_shared<Budgets>();
    if (api_) *listed = list_budgets(*api_);
    const auto made = std::make_shared<MadePlan>();
    if (probes_) made->probed = probes_->ask(snapshot->to_probe);
    add_probes(*snapshot, made->probed);
    made->plan = plan_of(*snapshot);
    return [this, made, listed] {
      planning_ = false;
      ++plans_;
      made->at = around_.clock.mono();
      plan_ = std::move(*made);
      if (*listed) take(std::move(**listed));
    };
  });
}

void SleepControl::take(Result<std::vector<DisruptionBudget>> listed) {
  if (listed) {
    unsatisfied_ = std::move(*listed);
    problem_.clear();
    return;
  }
  unsatisfied_.clear();
  problem_ = listed.error().message();
  if (const auto count = problems_logged_.note("budgets", around_.clock.mono()))
    around_.log.warn("sleep.budgets_unknown", "disruption budgets cannot be listed, so the sleep plan ignores them",
                     {{"error", listed.error()}, {"count", *count}});
}

Result<std::string> SleepControl::order(const std::string& what, const std::map<std::string, std::string>& arguments,
                                        const std::string& who) {
  const std::string node = words_of(arguments, "node"), end = words_of(arguments, "end");
  if (what != "sleep-exclude") return fail(Errc::not_found, what, "is not an order about sleep", "use sleep-exclude");
  if (!on()) return fail(Errc::unsupported, what, "sleep is off", "set sleep.mode in the controller's configuration");
  if (node.empty()) return fail(Errc::malformed, what, "needs a node", "wattle sleep exclude NODE");
  if (!end.empty() && end != "yes")
    return fail(Errc::malformed, "argument end", "invalid value '" + end + "'", "use yes, or omit it");
  std::string why = words_of(arguments, "why");
  if (why.empty()) why = who;
  if (!end.empty()) why.clear();
  if (why.empty())
    exclusions_.erase(node);
  else
    exclusions_[node] = why;
  if (around_.store.on())
    around_.store.read(
        [node, why, &log = around_.log, at_s = unix_s(around_.clock.wall())](StoreFile& file) -> Result<std::string> {
          if (const Status kept = file.sleeps().exclude(node, why, at_s); !kept)
            log.error("sleep.not_kept", "the exclusion of a node is in force but lost at a restart",
                      {{"node", node}, {"error", kept.error()}});
          return std::string();
        });
  around_.audit.audit(who, (why.empty() ? "node may sleep again: " : "node excluded from sleep: ") + node, why);
  return SortedJson{{"node", node}, {"excluded", !why.empty()}, {"kept", around_.store.on()}}.dump();
}

}  // namespace wattle::controller::power
