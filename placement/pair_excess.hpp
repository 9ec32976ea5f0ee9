// pair_excess: which applications slow each other where they share a node, learned from how long pods wait for CPU.
// Model    beside others a pod waits as long as the worst of them makes it: the share of its time is the largest of the shares that are kept of
//          its application beside each of theirs. Its own, whoever is there, is kept likewise; a neighbour counts by what is beyond it
// Learned  from the excess of a pod's waiting over what its node makes anybody wait. Who is there while there is no excess is not to blame: a
//          share above what was seen falls, four times as fast as it would rise. More than is explained is blamed on those there of whom
//          that has not been seen; where it has of all of them, it counts less and less, until one of them is left of whom it is not seen
//          elsewhere. An application that never waits has no entries
// Shrunk   to 0, by as much as prior_s of being seen together without excess
// Fades    what was seen counts as memory_s at most
// Bounds   max_pairs; beyond them a quarter is forgotten, first who is not to blame, then who was not seen for longest. No share is
//          above kMostExcess
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
  double prior_s = 300;
  double memory_s = 3600;
};

class PairExcess {
 public:
  explicit PairExcess(PairExcessOptions options = {}) : options_(options) {}

  // A pod of `app` waited that much longer than its node alone would make it, for `seen_s`, while pods of these applications were there
  // (each once; its own is among them where there is another pod of it). True if taken.
  bool observe(AppId app, std::span<const AppId> beside, double excess, double seen_s);

  // Share of a pod's time that it is expected to wait because of the worst of them; 0: nobody there is known to disturb it.
  double expected(AppId app, std::span<const AppId> beside) const;
  // Of one neighbour.
  double expected(AppId app, AppId beside) const { return expected(app, std::span(&beside, 1)); }
  // All that is known of one application, so that who asks about many nodes looks at few of those that are there.
  struct Around {
    struct Neighbour {
      AppId app = 0;
      double waited = 0;  // expected(of the one asked about, app)
    };
    std::vector<Neighbour> slowed_by;
    std::vector<AppId> slows;
  };
  Around around(AppId app) const;
  std::size_t pairs() const { return pairs_; }

  void pack(PackWriter& out) const;
  // Pairs beyond max_pairs are left out. What the reader refuses leaves this as it was.
  void unpack(PackReader& in);

 private:
  static constexpr AppId kItself = 0;  // in place of a neighbour
  struct Entry {
    AppId beside = kItself;
    double share = 0, seen_s = 0;
    double free_s = 0;       // there without excess, less what went against it since
    std::uint64_t last = 0;  // when it was seen, on a clock that observations move
  };
  void make_room();

  PairExcessOptions options_;
  std::unordered_map<AppId, std::vector<Entry>> entries_;  // by who waits
  std::size_t pairs_ = 0;
  std::uint64_t clock_ = 0;
};

// Extra time that a pod takes which waits for that share of it, over what it would take.
double stretch_of(double waited);

}  // namespace wattle::placement
