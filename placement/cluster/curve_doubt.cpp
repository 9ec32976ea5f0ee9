#include "placement/cluster/curve_doubt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wattle::placement {

namespace {
constexpr double kDoubtMemory_s = 1800;
}  // namespace

void CurveDoubt::add(const PowerCurve& curve, NodeCurve& known) {
  if (known.shifts && curve.shifts() > *known.shifts) ++opened_;
  known.shifts = curve.shifts();
}

void CurveDoubt::end_round(std::size_t nodes, double passed_s) {
  share_ *= std::exp(-passed_s / kDoubtMemory_s);
  const std::size_t opened = std::exchange(opened_, 0);
  if (opened > 0) share_ = std::min(1.0, share_ + static_cast<double>(opened) / static_cast<double>(nodes));
}

}  // namespace wattle::placement
