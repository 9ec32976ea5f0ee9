// pair_excess: learns which applications slow each other on a shared node, from how long pods wait for CPU.
// Model    the neighbour that slows a pod most determines how long the pod waits. For each pair of applications the
//          model keeps the largest share of time that the neighbour can take (the smallest excess seen beside it) and
//          the probability that the neighbour is the cause. Waiting that occurs beside any neighbour is an entry of the
//          application itself; a neighbour counts only with its excess over that entry
// Learning uses the excess of a pod's waiting over the waiting of any pod on its node. At least one neighbour of a
//          waiting pod is the cause, but none beside which the pod waited much less. The minimal sets of suspects are
//          kept. Belief propagation over all sets yields the blame, with a prior of one in ten pairs (group testing
//          with a noisy or; Sejdinovic and Johnson, 2010). A set from one reading counts as chance, and a set seen for
//          a short time may be chance. Unexplained excess makes the neighbours suspects again. An application that
//          never waits has no entries
// Several suspects count with the largest of their shares and the probability that at least one of them is to blame
// Bounds   max_pairs; beyond it a quarter is dropped: first entries without blame, then the least recently seen ones.
//          24 sets per application, of at most 64 suspects. Shares are at most kMostExcess. Blame survives a restart,
//          sets do not
// Units    shares of a pod's time, 0..1; seconds
// Errors   none; readings that are not finite or negative are ignored
// Threads  value, single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "placement/cluster/packed.hpp"

namespace wattle::placement {

struct AppKey;

// An application as the digest of its key; 0: none.
using AppId = std::uint64_t;
AppId app_id_of(const AppKey& key);

inline constexpr double kMostExcess = 0.9;

struct PairExcessOptions {
  std::size_t max_pairs = 4096;
};

class PairExcess {
 public:
  explicit PairExcess(PairExcessOptions options = {}) : options_(options) {}

  // Adds a reading: a pod of `app` waited `excess` longer than its node explains, for `seen_s`, beside pods of
  // these applications (each once; includes `app` if another pod of it was there). Returns whether it was used.
  bool observe(AppId app, std::span<const AppId> beside, double excess, double seen_s);

  // Returns the share of a pod's time that it is expected to wait because of these neighbours; 0 if none is known to
  // slow it.
  double expected(AppId app, std::span<const AppId> beside) const;
  // Returns the same for one neighbour.
  double expected(AppId app, AppId beside) const { return expected(app, std::span(&beside, 1)); }
  struct Suspect {
    AppId app = 0;
    double share = 0;  // of a pod's time, if it is to blame
    double blame = 0;  // probability that it is to blame
  };
  // Computes expected() incrementally; add each suspect once.
  class Waiting {
   public:
    void add(const Suspect& one) {
      none_ *= 1 - one.blame;
      share_ = share_ < one.share ? one.share : share_;
    }
    double beyond(double own) const { return share_ * (1 - none_) > own ? share_ * (1 - none_) - own : 0; }

   private:
    double none_ = 1, share_ = 0;
  };
  // All data on one application, so that callers with many nodes need few lookups.
  struct Around {
    double own = 0;  // waiting that occurs beside any neighbour
    std::vector<Suspect> slowed_by;
    std::vector<AppId> slows;
  };
  Around around(AppId app) const;
  std::size_t pairs() const { return pairs_; }

  void pack(PackWriter& out) const;
  // Drops pairs beyond max_pairs. Leaves the object unchanged if the reader fails.
  void unpack(PackReader& in);

 private:
  static constexpr AppId kItself = 0;  // in place of a neighbour
  struct Entry {
    AppId beside = kItself;
    double share = 0;        // largest share of time that it can take
    double prior = 0;        // probability of blame without the sets
    double blame = 0;        // probability of blame with the sets
    std::uint64_t last = 0;  // last seen, on a clock that observations advance
  };
  // A set of suspects, at least one of which is the cause unless the waiting was chance.
  struct Slow {
    std::vector<AppId> suspects;  // ascending
    double excess = 0, seen_s = 0, settled_s = 0;
    std::uint64_t last = 0;
  };
  struct Known {
    std::vector<Entry> entries;
    std::vector<Slow> slow;
  };
  static Suspect suspect(const Entry& entry);
  bool blame(Known& known, const std::vector<Entry*>& there, double excess, double seen_s) const;
  static void clear_up(Known& known);
  static void settle(Known& known);
  void make_room();

  PairExcessOptions options_;
  std::unordered_map<AppId, Known> known_;  // by waiting application
  std::size_t pairs_ = 0;
  std::uint64_t clock_ = 0;
};

// Returns the relative extension of the lifetime of a pod that waits for this share of its time.
double stretch_of(double waited);

}  // namespace wattle::placement
