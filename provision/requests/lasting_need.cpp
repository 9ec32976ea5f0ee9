#include "provision/requests/lasting_need.hpp"

#include <algorithm>

#include "placement/cluster/pack_fields.hpp"

namespace wattle::placement {
namespace {

constexpr double kLastingDay_s = 86'400;
constexpr double kLastingMargin = 0.05;  // on the largest need of memory

}  // namespace

void LastingNeed::move_to(double now_s) {
  if (now_s < from_s_) *this = LastingNeed();
  if (from_s_ != 0 && now_s - from_s_ < kLastingDay_s) return;
  last_ = now_s - from_s_ < 2 * kLastingDay_s ? now_ : Day();
  now_ = {};
  from_s_ = now_s;
}

void LastingNeed::add_wanted(const Resources& wanted, double now_s) {
  move_to(now_s);
  now_.wanted.cpu_cores = std::max(now_.wanted.cpu_cores, wanted.cpu_cores);
  now_.wanted.memory_bytes = std::max(now_.wanted.memory_bytes, wanted.memory_bytes);
}

void LastingNeed::add_needed(double bytes, double now_s) {
  move_to(now_s);
  now_.needed_bytes = std::max(now_.needed_bytes, bytes);
}

double LastingNeed::needed_bytes() const { return std::max(now_.needed_bytes, last_.needed_bytes); }

Resources LastingNeed::request() const {
  return {std::max(now_.wanted.cpu_cores, last_.wanted.cpu_cores),
          std::max({now_.wanted.memory_bytes, last_.wanted.memory_bytes, needed_bytes() * (1 + kLastingMargin)})};
}

template <class V>
void LastingNeed::fields(V& v) {
  v.not_negative(from_s_);
  for (Day* day : {&now_, &last_}) v.not_negative(day->wanted.cpu_cores, day->wanted.memory_bytes, day->needed_bytes);
}

void LastingNeed::pack(PackWriter& out) const { pack_fields(out, *this); }
void LastingNeed::unpack(PackReader& in) { unpack_fields(in, *this); }

}  // namespace wattle::placement
