#include "placement/cluster/mean_request.hpp"

#include <algorithm>
#include <cmath>

#include "placement/cluster/sane_view.hpp"

namespace wattle::placement {

namespace {
constexpr double kRequestMemory = 200;  // pods
// Deviation of requests over their mean; plans count pods of the mean request.
constexpr double kAlikeRequests = 0.1, kUnlikeRequests = 0.4;
constexpr double kLeastRequest_cores = 1e-3;
}  // namespace

void MeanRequest::started(const Resources& original) {
  weight_ = std::min(weight_ + 1, kRequestMemory);
  const Resources request = sane(original);
  const double away_cores = request.cpu_cores - arrived_.cpu_cores;
  arrived_.cpu_cores += away_cores / weight_;
  variance_cores2_ += (away_cores * (request.cpu_cores - arrived_.cpu_cores) - variance_cores2_) / weight_;
  arrived_.memory_bytes += (request.memory_bytes - arrived_.memory_bytes) / weight_;
  ++running_;
  running_with_.cpu_cores += request.cpu_cores;
  running_with_.memory_bytes += request.memory_bytes;
}

void MeanRequest::resized(const Resources& before, const Resources& after, const Resources& arrived_with) {
  count_resized(before, arrived_with, -1);
  count_resized(after, arrived_with, 1);
}

void MeanRequest::ended(const Resources& request, const Resources& original) {
  const Resources arrived_with = sane(original);
  running_with_.cpu_cores -= arrived_with.cpu_cores;
  running_with_.memory_bytes -= arrived_with.memory_bytes;
  count_resized(request, arrived_with, -1);
  if (--running_ > 0) return;
  change_ = running_with_ = {};  // no rounding errors remain
  resized_ = 0;
}

void MeanRequest::count_resized(const Resources& request, const Resources& original, int sign) {
  const Resources now = sane(request), arrived_with = sane(original);
  if (now.cpu_cores == arrived_with.cpu_cores && now.memory_bytes == arrived_with.memory_bytes) return;
  resized_ += static_cast<std::size_t>(sign);
  change_.cpu_cores += sign * (now.cpu_cores - arrived_with.cpu_cores);
  change_.memory_bytes += sign * (now.memory_bytes - arrived_with.memory_bytes);
  if (resized_ == 0) change_ = {};
}

Resources MeanRequest::mean() const {
  const auto left = [&](double Resources::*part) {
    const double arrived_with = running_with_.*part;
    return resized_ > 0 && arrived_with > 0 ? std::max(0.0, 1 + change_.*part / arrived_with) : 1.0;
  };
  return {arrived_.cpu_cores * left(&Resources::cpu_cores), arrived_.memory_bytes * left(&Resources::memory_bytes)};
}

double MeanRequest::similarity() const {
  const double spread = std::sqrt(std::max(0.0, variance_cores2_)) / std::max(arrived_.cpu_cores, kLeastRequest_cores);
  return std::clamp((kUnlikeRequests - spread) / (kUnlikeRequests - kAlikeRequests), 0.0, 1.0);
}

void MeanRequest::pack(PackWriter& out) const {
  for (const double value : {arrived_.cpu_cores, arrived_.memory_bytes, weight_}) out.real(value);
}

void MeanRequest::unpack(PackReader& in) {
  for (double* value : {&arrived_.cpu_cores, &arrived_.memory_bytes, &weight_}) *value = in.real();
  if (arrived_.cpu_cores < 0 || arrived_.memory_bytes < 0 || weight_ < 0) in.refuse();
}

void MeanRequest::unpack_variance(PackReader& in) {
  variance_cores2_ = in.real();
  if (variance_cores2_ < 0) in.refuse();
}

}  // namespace wattle::placement
