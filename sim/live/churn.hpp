// churn: creates and deletes pods on a real API server, in the patterns of two drivers from the literature.
// Drivers  batch (test1)   creates a number of pods, waits until all are bound, deletes all, waits until all are gone;
//          repeats
//          window (test2)  creates a number of pods, then repeatedly deletes the oldest and creates one
// Source   an API server; a run's pods have the label wattle.dev/churn, whose value names the run
// Units    seconds from the creation of a pod to the first list that shows it bound; lists are kLook apart
// Errors   run: denied (a right is missing: create, list, delete pods), unavailable, malformed. Pods without a node in
//          time are counted, not an error. clear() deletes the run's pods in any case
// Threads  single owner
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/http_api.hpp"
#include "common/result.hpp"

namespace wattle::sim::live {

enum class ChurnDriver { batch, window };

struct ChurnOptions {
  ChurnDriver driver = ChurnDriver::batch;
  std::size_t pods = 30, turns = 10;
  std::string run;  // names this run among others; letters and digits
  std::string pod_namespace = "default", scheduler = "wattle", image = "registry.k8s.io/pause:3.10";
  std::string cpu = "250m", memory = "64Mi";
  double patience_s = 120;  // for pods to be bound, and to disappear
};

struct ChurnFigures {
  std::size_t turns = 0, created = 0, bound = 0, unbound = 0;  // unbound: without a node at the end of patience_s
  std::vector<double> bound_after_s;
  std::map<std::string, std::size_t> pods_of_node;
};

class Churn {
 public:
  static constexpr std::chrono::milliseconds kLook{100};

  // `pause` sleeps and returns whether to continue.
  Churn(ChurnOptions options, kube::HttpApi& api, const Clock& clock, std::function<bool(Duration)> pause);

  Status run();
  // Deletes the run's pods and waits until they are gone. Returns the number of remaining pods.
  Result<std::size_t> clear();
  // Deletes the pods of every run, including killed ones.
  Result<std::size_t> sweep();
  const ChurnFigures& figures() const { return figures_; }

 private:
  struct Waiting {
    MonoTime since{};
    bool bound = false;
  };
  Status batch();
  Status window();
  Status create();
  Status remove(const std::string& name);
  // Polls until `done` returns true for the number of pods and the number of pods without a node. Returns false if
  // patience_s is over or the run is stopped.
  Result<bool> look_until(const std::function<bool(std::size_t there, std::size_t unbound)>& done);
  Status all_bound();
  Result<std::size_t> clear(const std::string& selector);
  std::string pods_path() const;

  ChurnOptions options_;
  kube::HttpApi& api_;
  const Clock& clock_;
  std::function<bool(Duration)> pause_;
  bool stopped_ = false;
  std::uint64_t next_ = 0;
  std::deque<std::string> names_;  // oldest first
  std::map<std::string, Waiting> waiting_;
  ChurnFigures figures_;
};

std::string churn_text(const ChurnOptions& options, const ChurnFigures& figures);
std::string churn_json(const ChurnOptions& options, const ChurnFigures& figures);

}  // namespace wattle::sim::live
