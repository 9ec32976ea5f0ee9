// mean_request: the mean request of arriving pods, and how much their requests differ.
// Memory   the last kRequestMemory pods, roughly
// Resizes  scale the mean by the ratio of the running pods' requests after and before their resizes
// Units    in names
// Errors   none; requests are limited to sane values
// Threads  value
#pragma once

#include <cstddef>

#include "placement/cluster/cluster_view.hpp"
#include "placement/cluster/packed.hpp"

namespace wattle::placement {

class MeanRequest {
 public:
  void started(const Resources& request);
  // Records a resize of a running pod, with its requests before, after and at its start.
  void resized(const Resources& before, const Resources& after, const Resources& arrived_with);
  void ended(const Resources& request, const Resources& arrived_with);

  Resources mean() const;
  // Returns 1 if requests hardly differ and 0 if a plan of mean requests is useless.
  double similarity() const;

  // The variance is packed separately, because the format requires it.
  void pack(PackWriter& out) const;
  void unpack(PackReader& in);
  void pack_variance(PackWriter& out) const { out.real(variance_cores2_); }
  void unpack_variance(PackReader& in);

 private:
  // Adds (sign 1) or removes (sign -1) a running pod whose request differs from the one that it started with.
  void count_resized(const Resources& request, const Resources& arrived_with, int sign);

  Resources arrived_{1, 0};     // mean of the arrived pods
  double weight_ = 0;           // of that mean
  double variance_cores2_ = 0;  // of the requested cores around that mean
  std::size_t running_ = 0, resized_ = 0;
  Resources change_, running_with_;  // sums over the resized pods, and over all running ones
};

}  // namespace wattle::placement
