// pair_excess: which applications slow each other where they share a node, learned from how long pods wait for CPU.
// Model    beside others a pod waits as long as the worst of those makes it that slow it. Kept of its application, beside each of theirs: the
//          share of its time that this one takes at most (the least that was seen beside it), and the probability that it is to blame. What
//          it waits whoever is there is kept likewise, as if it were a neighbour of its own; others count by what is beyond it
// Learned  from the excess of a pod's waiting over what its node makes anybody wait. A pod that waits has one among its neighbours at least
//          that is to blame, and those are no suspects beside whom it was seen to wait much less. Such sets of suspects are kept, without
//          those that contain another, and blame is settled over all of them: belief propagation, of pairs of which one in ten is to blame
//          before anything is seen (group testing with a noisy or; Sejdinovic and Johnson, 2010). A set of one reading is
//          chance, one that was seen for short may be. Excess that nobody could cause makes suspects anew. An application that never
//          waits has no entries
// Expected of several suspects: that one of them at least is to blame
// Bounds   max_pairs; beyond them a quarter is forgotten, first who is not to blame, then who was not seen for longest. 24 sets of an
//          application, of 64 suspects at most. No share is above kMostExcess. Sets do not outlive a restart, blame does
// Units    shares of a pod's time, 0..1; seconds
// Errors   none; readings that are not finite or negative are not taken
// Threads  value, single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "placement/packed.hpp"

namespace wattle::placement {

struct AppKey;

// An application by the digest of its key; 0: none.
using AppId = std::uint64_t;
AppId app_id_of(const AppKey& key);

inline constexpr double kMostExcess = 0.9;

struct PairExcessOptions {
  std::size_t max_pairs = 4096;
};

class PairExcess {
 public:
  explicit PairExcess(PairExcessOptions options = {}) : options_(options) {}

  // A pod of `app` waited that much longer than its node alone would make it, for `seen_s`, while pods of these applications were there
  // (each once; its own is among them where there is another pod of it). True if taken.
  bool observe(AppId app, std::span<const AppId> beside, double excess, double seen_s);

  // Share of a pod's time that it is expected to wait because of them; 0: nobody there is known to disturb it.
  double expected(AppId app, std::span<const AppId> beside) const;
  // Of one neighbour.
  double expected(AppId app, AppId beside) const { return expected(app, std::span(&beside, 1)); }
  struct Suspect {
    AppId app = 0;
    double share = 0;  // of a pod's time, if it is to blame
    double blame = 0;  // probability of that
  };
  // expected(), of those that are added, each once.
  class Waiting {
   public:
    void add(const Suspect& one) {
      nobody_ *= 1 - one.blame;
      share_ = share_ < one.share ? one.share : share_;
    }
    double beyond(double own) const { return share_ * (1 - nobody_) > own ? share_ * (1 - nobody_) - own : 0; }

   private:
    double nobody_ = 1, share_ = 0;
  };
  // All that is known of one application, so that who asks about many nodes looks at few of those that are there.
  struct Around {
    double own = 0;  // waited whoever is there
    std::vector<Suspect> slowed_by;
    std::vector<AppId> slows;
  };
  Around around(AppId app) const;
  std::size_t pairs() const { return pairs_; }

  void pack(PackWriter& out) const;
  // Pairs beyond max_pairs are left out. What the reader refuses leaves this as it was. `by_time`: of before blame was a probability.
  void unpack(PackReader& in, bool by_time = false);

 private:
  static constexpr AppId kItself = 0;  // in place of a neighbour
  struct Entry {
    AppId beside = kItself;
    double share = 0;        // that it takes at most
    double prior = 0;        // that it is to blame, without what the sets say
    double blame = 0;        // with them
    std::uint64_t last = 0;  // when it was seen, on a clock that observations move
  };
  // One of these at least is to blame, if it was not chance.
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
  std::unordered_map<AppId, Known> known_;  // by who waits
  std::size_t pairs_ = 0;
  std::uint64_t clock_ = 0;
};

// Extra time that a pod takes which waits for that share of it, over what it would take.
double stretch_of(double waited);

}  // namespace wattle::placement
