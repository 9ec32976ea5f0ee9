#include "controller/web/series.hpp"

#include <algorithm>
#include <limits>

#include "common/dir.hpp"
#include "controller/config.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/parts.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/trainer/learning.hpp"
#include "controller/web/each_workload.hpp"
#include "controller/web/sleep_levers.hpp"
#include "controller/web/sleep_states.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {
namespace {

float known(const std::optional<double>& value) {
  return value ? static_cast<float>(*value) : std::numeric_limits<float>::quiet_NaN();
}

void add(std::optional<double>& sum, const std::optional<double>& value) {
  if (value) sum = sum.value_or(0.0) + *value;
}

std::vector<std::pair<std::string, std::size_t>> pods_by_node(const Parts& from) {
  std::vector<std::pair<std::string, std::size_t>> pods;
  if (from.state.nodes().size() <= FleetHistory::kMostNodes)
    for (const auto& [name, node] : from.state.nodes()) pods.emplace_back(name, node.pods.size());
  return pods;
}

// Removes series that are no longer in `there`.
template <class Histories, class There>
void forget(Histories& histories, There there) {
  std::erase_if(histories, [&](const auto& item) { return !there(item.first); });
}

}  // namespace

NodeGlance glance(const Parts& from, const std::string& name, const Node& node) {
  NodeGlance out;
  const placement::NodeView& view = *from.state.node_view(name);
  const bool stale = !node.connected || !node.sampled_at ||
                     seconds(from.clock.mono() - *node.sampled_at) > from.config.decide.mask.stale_after_s;
  out.asleep = (stale || view.asleep) && may_be_silent(from.sleep, name);
  out.silent = stale && !out.asleep;
  out.masked = node.deleted || (node.kube != nullptr && (node.kube->cordoned || !node.kube->ready));
  out.full = view.starts >= from.decider.engine().options().mask.start_cap.of(view.allocatable.cpu_cores);
  out.estimated = node.values.energy_source == EnergySource::estimated;
  if (view.asleep) {
    out.power_w = view.power_w;
    out.estimated = true;
  }
  if (stale || out.asleep) return out;  // its last values are outdated
  if (!view.asleep) out.power_w = node.power_w;
  const double cores = node.values.cpu_cores.value_or(node.hello.cpu_cores);
  if (node.values.cpu_used_cores && cores > 0) out.use_ratio = *node.values.cpu_used_cores / cores;
  const Pressure& pressure = node.values.pressure;
  for (const auto& some : {pressure.cpu_some_ratio, pressure.memory_some_ratio, pressure.io_some_ratio})
    if (some) out.pressure_ratio = std::max(out.pressure_ratio.value_or(0.0), static_cast<double>(*some));
  out.latency_ms = placement::latency_for(view, placement::PodSpec{});
  return out;
}

Steps sum_fleet(const Parts& from, std::shared_ptr<FleetSums> sums) {
  return each_of(from.state.nodes(), [&from, sums = std::move(sums)](const auto& item) {
    const auto& [name, node] = item;
    const NodeGlance now = glance(from, name, node);
    ++sums->nodes;
    sums->silent += now.silent ? 1 : 0;
    sums->asleep += now.asleep ? 1 : 0;
    sums->masked += now.masked ? 1 : 0;
    sums->pods += node.pods.size();
    sums->with_pods += node.pods.empty() ? 0 : 1;
    if (!now.silent && !now.asleep) {
      add(sums->cpu_used_cores, node.values.cpu_used_cores);
      add(sums->cpu_cores, node.values.cpu_cores);
    }
    if (now.power_w) {
      add(now.estimated ? sums->estimated_w : sums->measured_w, now.power_w);
      ++(now.estimated ? sums->estimated : sums->measured);
      if (!from.state.view_of(node).asleep) add(sums->idle_w, node.idle_w);
    }
    if (from.sleep.on()) return;
    if (const ProjectedSleep sleep = project_sleep(from, name, node, now); sleep.kept.empty()) {
      ++sums->could_sleep;
      sums->could_sleep_w += sleep.saved_w;
    }
  });
}

std::optional<double> FleetSums::power_w() const {
  std::optional<double> sum = measured_w;
  add(sum, estimated_w);
  return sum;
}

std::optional<double> default_w(const Parts& from, const FleetSums& sums) {
  const auto ratio = from.decider.engine().shadow().default_power_ratio(), power_w = sums.power_w();
  return ratio && power_w ? std::optional(*ratio * *power_w) : std::nullopt;
}

Steps Series::sample(const Parts& from) {
  const std::int64_t now_s = to_ns(from.clock.wall()) / 1'000'000'000;
  if (fleet_slot_ == now_s / FleetHistory::kFinestStep_s) return no_steps();
  fleet_slot_ = now_s / FleetHistory::kFinestStep_s;
  const auto sums = std::make_shared<FleetSums>();
  return then(sum_fleet(from, sums), [this, &from, sums, now_s] {
    mark_changes(from, now_s);
    add_fleet(from, *sums, now_s);
    const MonoTime now = from.clock.mono();
    if (parts_at_ && now - *parts_at_ < PartHistory::kStep) return no_steps();
    parts_at_ = now;
    parts_end_ = from.clock.wall();
    if (++rows_ > PartHistory::kRowsPerCoarse) rows_ = 1;
    if (ends_coarse()) coarse_end_ = parts_end_;
    return sample_parts(from);
  });
}

void Series::add_fleet(const Parts& from, const FleetSums& sums, std::int64_t now_s) {
  const MonoTime now = from.clock.mono();
  const DeciderFigures& decided = from.decider.figures();
  const std::uint64_t successful = decided.placements - decided.placements_unasked;
  const auto per_min = [&](std::uint64_t count, std::uint64_t before) -> std::optional<double> {
    if (!counted_at_ || now <= *counted_at_) return std::nullopt;
    return static_cast<double>(count - before) * 60 / seconds(now - *counted_at_);
  };
  const placement::PodTime& pod_time = from.decider.engine().cluster_model().pod_time();
  const bool acting = acts(from.decider.arm().arm);
  const auto share = [acting](const placement::Budget& budget) {
    if (!acting) return budget.under_default();
    return budget.measured() ? std::optional(budget.recent()) : std::nullopt;
  };
  fleet_.add(now_s,
             {known(sums.measured_w), known(sums.estimated_w), known(default_w(from, sums)), known(sums.cpu_used_cores),
              known(share(pod_time.cpu_wait())), known(share(pod_time.late())), known(decided.mean_reward()),
              known(from.learning.figures().loss), static_cast<float>(sums.pods), static_cast<float>(sums.with_pods),
              known(per_min(decided.decisions, decisions_)), known(per_min(successful, successful_))},
             pods_by_node(from));
  counted_at_ = now;
  decisions_ = decided.decisions;
  successful_ = successful;
}

void Series::mark_changes(const Parts& from, std::int64_t now_s) {
  const std::vector<Contender> all = from.decider.networks().contenders();
  const auto serves = std::find_if(all.begin(), all.end(), [](const Contender& each) { return each.serves; });
  const std::string mode = from.decider.spec().mode.text(), policy = from.decider.spec().policy;
  const std::string decides = serves == all.end() ? "the policy " + policy : serves->who;
  const auto changed = [&](const char* kind, const char* what, std::string& was, const std::string& is) {
    if (!was.empty() && was != is) fleet_.mark({now_s, kind, std::string(what) + was + " -> " + is});
    was = is;
  };
  if (mode_.empty())
    fleet_.mark({now_s, "start", "the controller starts in mode " + mode + "; " + decides + " decides"});
  changed("mode", "mode ", mode_, mode);
  changed("mode", "policy ", policy_, policy);
  changed("network", "decided by: ", decides_, decides);
}

Steps Series::sample_parts(const Parts& from) {
  Steps nodes = each_of(from.state.nodes(), [this, &from](const auto& item) {
    const NodeGlance now = glance(from, item.first, item.second);
    const std::array<float, kNode.size()> row{known(now.power_w), known(now.use_ratio), known(now.pressure_ratio),
                                              known(now.latency_ms)};
    add_row(nodes_.try_emplace(item.first, kNode.size()).first->second, row);
  });
  Steps pods = each_workload(
      from.state.nodes(), [this](const auto&, const auto&, const std::string& uid, const Workload& workload) {
        if (workload.values.kind != WorkloadKind::pod) return;
        auto pod = pods_.find(uid);
        if (pod == pods_.end()) {
          if (pods_.size() >= kMaxSeriesPods) return;
          pod = pods_.try_emplace(uid, kPod.size()).first;
        }
        const std::array<float, kPod.size()> values{known(workload.power_w), known(workload.cpu_cores)};
        add_row(pod->second, values);
      });
  return in_order({std::move(nodes), std::move(pods), [this, &from] {
                     forget(nodes_, [&](const std::string& name) { return from.state.node(name) != nullptr; });
                     forget(pods_, [&](const std::string& uid) { return from.state.pod(uid) != nullptr; });
                     return false;
                   }});
}

void Series::add_row(PartHistory& history, std::span<const float> row) const {
  history.add(row);
  if (ends_coarse()) history.end_coarse();
}

Series::Past Series::past(const Histories& all, const std::string& name, std::optional<WallTime> from) const {
  const auto found = all.find(name);
  if (found == all.end()) return {};
  const Ring& fine = found->second.fine();
  // A step more, and another one that has not been added yet: the last hour has fine steps.
  const auto begins = parts_end_ - PartHistory::kStep * static_cast<std::int64_t>(fine.size() + 1);
  if (!from || *from >= begins || !fine.full()) return {&fine, {}, PartHistory::kStep, parts_end_};
  return {&found->second.coarse(), {}, PartHistory::kCoarseStep, coarse_end_};
}

Series::Past Series::node(const std::string& name, std::optional<WallTime> from) const {
  Past found = past(nodes_, name, from);
  found.names = kNode;
  return found;
}

Series::Past Series::pod(const std::string& uid, std::optional<WallTime> from) const {
  Past found = past(pods_, uid, from);
  found.names = kPod;
  return found;
}

void Series::recall_file(const std::string& data_dir, const Log& log) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  const auto dir = Dir::open_(data_dir);
  if (!dir) return;  // the log has it, because the cluster model is kept there, too
  auto file = dir->open_file(std::string(kHistoryFile));
  if (!file && file.error().code == Errc::not_found) return;
  auto bytes = file ? file->read_all(kMostBytes) : Result<std::string>(forward_error(file));
  const Status recalled = bytes ? recall(*bytes) : Status(forward_error(bytes));
  if (!recalled)
    log.warn("history.unusable", "the saved history of the page is not usable", {{"error", recalled.error()}});
}

}  // namespace wattle::controller
