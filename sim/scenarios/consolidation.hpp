// consolidation: draws an episode from data and a seed: a fleet, the arriving pods, and the prior knowledge of both.
// Split    servers and days are either for training or for reporting: every second server of the table, and the later
//          half of the days, are for reporting. The applications' history is drawn from a training day
// Pods     request one core; demand is min(1, demand_scale x the machine's share); applications (owner/image) draw
//          their pods from a band of the machines ordered by mean
// Sizes    openb: each application has the request and the mean life of a pod of a production cluster, as shares of the
//          mean server. At least half of the servers have room for it, and no mean life is beyond a day. Demand is that
//          share of the request
// Pairs    of applications that disturb each other, drawn once from a separate seed: the same in every episode, and
//          unknown to all policies
// Crowded  applications request less or more than they use (log-normal, twice the use on average), and each half
//          minute's use is log-normal around its five minutes' mean
// Units    in names; seconds from the start of the run
// Errors   load_dataset: as its files; too few servers or days to split is out_of_range
// Threads  values, pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/demand.hpp"
#include "sim/cluster/pairs.hpp"
#include "sim/scenarios/demand_trace.hpp"
#include "sim/scenarios/experience.hpp"
#include "sim/scenarios/pod_sizes.hpp"
#include "sim/world/power.hpp"

namespace wattle::sim::consolidation {

// A day in cores of a pod.
struct PodDay {
  std::string name;
  std::vector<std::array<float, kDaySamples>> cores;
  std::vector<double> mean_cores;
  std::vector<std::size_t> by_mean;  // machines, lowest mean first
};

struct Dataset {
  std::string origin;  // folder, or "synthetic"
  std::vector<ServerModel> train_servers, report_servers;
  std::vector<PodDay> train_days, report_days;
  std::vector<PodSize> train_sizes, report_sizes;  // empty: the folder has none
};

enum class Side { train, report };
// truth: an oracle's knowledge: real curves, each pod's own mean and life. production: only what the controller's own
// engine learns during the run in a World (lab/bench/live_run). pods: real curves and pods predicted by application,
// for training on the kernel, where a cluster can be cloned.
enum class ClusterModel { truth, production, pods };
inline constexpr std::array kClusterModels{ClusterModel::truth, ClusterModel::production, ClusterModel::pods};
std::string_view to_string(ClusterModel cluster_model);

enum class Sizes { one_core, openb };

struct Options {
  // Sizes, crowded and pairs apply to worlds only.
  Sizes sizes = Sizes::one_core;
  bool crowded = false;
  double pairs = 0;  // strength with which pairs of applications disturb each other (sim/cluster/pairs)
  std::size_t nodes = 10;
  bool sleep = false;
  bool churn = false;
  ClusterModel cluster_model = ClusterModel::truth;
  Side side = Side::report;
  double fill_low = 0.60, fill_high = 0.68;  // final requested share of cores, uniform; known as that range
  double churn_fill = 0.64;                  // mean in the steady state
  double life_s = 7200;                      // churn: mean over applications
  double warm_s = 8 * 3600, measure_s = 24 * 3600;
  double interval_s = 60;  // fill: between arrivals
  std::size_t apps = 30;
  double app_spread = 0.08;    // of the rank of an application's machines, standard deviation
  std::size_t past_pods = 20;  // of each application, known to pods
  double power_noise_ratio = 0.03;
  // Worlds only: each application is one owner. The share of its replicas that a node or zone may hold (1: no cap), and
  // the number of zones, which the nodes take in turn (0: none).
  double owner_share = 0.5;
  std::size_t zones = 3;
  Experience experience;  // worlds only
  std::optional<std::uint64_t>
      cluster_seed;  // fixes servers and applications to this seed in every episode; unset: each episode draws its own
};

// Returns whether to compare energy per work done instead of per time, because contestants complete different amounts
// of work.
inline bool compares_by_work(const Options& options) {
  return options.crowded || options.sizes != Sizes::one_core || options.pairs > 0 || options.experience.interference;
}
// A tenth of all pairs, the same for every draw. With a quarter nearly every pod would have a disturbing neighbour on
// any node.
inline constexpr double kPairShare = 0.1;
cluster::Pairs pairs_of(std::size_t apps, double strength);

// Crowded: relative standard deviation of half a minute's use around its five minutes' mean.
inline constexpr double kBurst = 0.6;

inline constexpr double kSleepAfter_s = 60;  // of idleness

inline constexpr placement::Resources kPodRequest{1.0, 0.4 * 1024 * 1024 * 1024};

struct Pod {
  std::size_t app = 0, machine = 0;
  double arrives_s = 0;
  double life_s = 0;  // infinity: it stays
  placement::Resources request = kPodRequest;
  double times = 1;  // its demand over that of a machine of its day
};

struct PastPod {
  std::size_t app = 0;
  double mean_cores = 0, life_s = 0;
  placement::Resources request = kPodRequest;
};

struct Episode {
  Options options;
  std::uint64_t seed = 0;
  std::vector<ServerModel> servers;
  const PodDay* day = nullptr;  // of the dataset
  std::vector<Pod> pods;        // by arrival
  double end_s = 0, measure_from_s = 0;
  std::vector<double> expected_cores;   // the rules' knowledge of the fill level
  std::vector<double> expected_demand;  // of the training day, by rank; part of true knowledge
  std::vector<PastPod> past_pods;
  std::vector<placement::AppKey> apps;  // of a recorded day; empty: app_key()
  placement::Resources mean_request = kPodRequest;
  placement::AppKey key_of(std::size_t app) const;
  double total_cores() const;
  double slots(std::size_t node) const;  // for pods of one core
};

placement::AppKey app_key(std::size_t app);

// Watts of a server with this number of pods and this total usage.
double server_w(const ServerModel& server, bool sleeps, std::size_t pods, double used_cores);

Result<Dataset> load_dataset(const std::string& trace_dir, double demand_scale);
Dataset synthetic_dataset(double demand_scale);

Episode make_episode(const Dataset& data, const Options& options, std::uint64_t seed);

}  // namespace wattle::sim::consolidation
