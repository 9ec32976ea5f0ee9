// demand: learns per application the mean cores of a pod and its lifetime.
// Model    an application is namespace, owner, image and labels, never the pod's name. Its mean share of the request is
//          shrunk towards that of its image in the same namespace, which is shrunk towards the mean of all (normal
//          model; the weight of the prior is the variance within applications over that between them). Lifetimes are
//          exponential: time run over pods ended, shrunk in the same way. The pods of one namespace affect predictions
//          for another one only through the mean of all
// Unsure   the standard error of an application's mean; for an unseen application, the spread between applications. All
//          pods of an application share this error
// Bursts   deviation of a pod from its own mean over time, as a variance, shrunk in the same way
// Robust   a reading beyond four deviations of its application counts as four. Old data decays, so that a changed
//          application is relearned
// Bounds   max_apps applications; the least recently seen one is dropped
// Units    cores, seconds, shares of the request
// Errors   none; readings that are not finite or negative are ignored
// Threads  single owner
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement {

struct AppKey {
  std::string owner, image, labels;  // any may be empty
  std::string pod_namespace;         // empty: unknown, as in all that was learned before keys had a namespace
};
// Returns the key of a pod whose `app` is "Kind/name image,...". Omits the suffix that a rollout or a schedule appends
// to the owner's name (the hash of a ReplicaSet, the time of a Job), so that the next rollout or run is the same
// application.
AppKey app_key_of(std::string_view app, std::string_view pod_namespace);
AppKey app_key_of(const PodSpec& pod);

struct DemandOptions {
  std::size_t max_apps = 4096;
  double prior_ratio = 0.5;   // share of the request, without data
  double prior_sd_ratio = 1;  // between applications, without data
  double prior_life_s = 3600;
  double full_weight_s = 900;    // a reading of this length counts as one pod
  double memory_pods = 200;      // weight above which old pods decay
  double prior_weight_pods = 2;  // weight of a prior until the variances are known
};

struct DemandPrediction {
  double cores = 0;
  double sd_cores = 0;         // between similar pods, including uncertainty of their mean
  double uncertain_cores = 0;  // the part of it from the mean: a standard deviation that similar pods share
  double burst_cores2 = 0;     // variance of one pod over time, around its own mean
  double life_s = 0;           // mean, whole life
  double seen_pods = 0;        // weight of the application's own data
};

class DemandModel {
 public:
  explicit DemandModel(DemandOptions options = {});
  DemandModel(const DemandModel& other);
  DemandModel& operator=(const DemandModel& other);
  DemandModel(DemandModel&&) = default;
  DemandModel& operator=(DemandModel&&) = default;

  // Adds one pod's mean usage over `seen_s` seconds, and its variance if known. Returns whether it was used.
  bool observe(const AppKey& app, const Resources& request, double mean_cores, double seen_s,
               std::optional<double> burst_cores2 = std::nullopt);
  // Records that a pod ran for `ran_s`, and whether it ended.
  bool observe_life(const AppKey& app, double ran_s, bool ended);

  DemandPrediction predict(const AppKey& app, const Resources& request) const;
  // Returns predictions for `n` equally likely future pods, ascending; applications appear as often as they were seen.
  std::vector<double> expected_demand(std::size_t n) const;
  // Returns the mean variance of those pods: over time and from uncertainty of the mean.
  double expected_burst_cores2() const;
  std::size_t apps() const { return apps_.size(); }

  void pack(PackWriter& out) const;
  // Drops applications above max_apps. If the reader fails, the model is unchanged.
  void unpack(PackReader& in);

 private:
  struct Stats {
    double weight = 0, mean = 0, square = 0;  // of shares; square: sum of weighted squared deviations
    double request_cores = 0;                 // mean
    double ran_s = 0, ended = 0;
    double burst = 0, burst_weight = 0;  // mean variance over time, of shares
    void add(double value, double by, double memory);
    double variance() const { return weight > 1 ? square / weight : 0; }
    void pack(PackWriter& out) const;
    void unpack(PackReader& in);
  };
  struct App {
    Stats stats;
    std::string image;  // key in images_
    std::list<std::string>::iterator seen;
  };
  void find_seen();
  double prior_weight() const;
  double ratio_of(const Stats* app, const Stats* image) const;
  double burst_of(const Stats* app, const Stats* image) const;
  App& app_of(const AppKey& key);

  DemandOptions options_;
  std::unordered_map<std::string, App> apps_;
  std::unordered_map<std::string, Stats> images_;  // by namespace and image
  std::list<std::string> recent_;                  // front: most recently seen
  Stats all_;
  double within_ = 0, within_weight_ = 0;  // squared deviations from the application's own mean
};

}  // namespace wattle::placement
