// lasting_need: the largest needs of the last one to two days, for requests that cannot change every hour: those that
// right_size lowers, and those of templates (`wattle savings --patch`).
// Returns  the rule's largest need of CPU and memory, and the largest memory that a pod needed plus a twentieth, which
//          the rule's quantile may exclude
// Units    cores, bytes, seconds of the wall clock. The two days end at the time of the last call
// Errors   unpack: the reader's. A clock that is set back resets the state
// Threads  values
#pragma once

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement {

class LastingNeed {
 public:
  // Adds the rule's current value of a resource; 0: unknown.
  void add_wanted(const Resources& wanted, double now_s);
  // Adds the memory that a pod needed.
  void add_needed(double bytes, double now_s);

  // Zero: unknown.
  Resources request() const;
  double needed_bytes() const;  // the largest, without margin

  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  template <class V>
  void fields(V& v);  // of pack_fields.hpp

 private:
  struct Day {
    Resources wanted;
    double needed_bytes = 0;
  };
  void move_to(double now_s);

  Day now_, last_;
  double from_s_ = 0;  // of `now_`
};

}  // namespace wattle::placement
