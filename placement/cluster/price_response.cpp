#include "placement/cluster/price_response.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

namespace {

constexpr double kHalfHour_s = 1800, kRest_s = 86'400, kProof_s = 2 * kRest_s;
constexpr int kSkipped = 2, kMeasured = 6;  // half hours
constexpr double kLeastFall = 0.1;          // of the excess over the limit
constexpr double kErrors = 2;               // standard errors that the fall has to exceed
constexpr double kAtRung = 0.5;             // a price of at least this share of the rung counts as being there

}  // namespace

void PriceResponse::begin_window() {
  here_ = {};
  half_hours_ = 0;
  part_s_ = lost_s_ = 0;
}

void PriceResponse::go_to(double rung, bool on_trial) {
  rung_ = rung;
  on_trial_ = on_trial;
  begin_window();
}

void PriceResponse::add(double lost_ratio, double limit, double price, double dt_s) {
  now_s_ += dt_s;
  if (price < kAtRung * rung_) {
    if (on_trial_ && price < rung_ / kStep) {
      on_trial_ = false;
      passed_at_s_ = now_s_;
    }
    begin_window();
    return;
  }
  part_s_ += dt_s;
  lost_s_ += lost_ratio * dt_s;
  if (part_s_ < kHalfHour_s) return;
  if (++half_hours_ > kSkipped) here_.add(lost_s_ / part_s_);
  part_s_ = lost_s_ = 0;
  if (half_hours_ == kSkipped + kMeasured) judge(limit);
}

void PriceResponse::judge(double limit) {
  if (on_trial_) {
    const double fell = below_.mean() - here_.mean();
    const double by_chance = std::sqrt(below_.variance_of_mean() + here_.variance_of_mean());
    if (fell < std::max(kLeastFall * (below_.mean() - limit), kErrors * by_chance)) {
      // A rung that no longer passes shows that the cluster has changed, so the one below is tested again as well.
      if (tested_again_) passed_at_s_ = now_s_ - kProof_s;
      again_at_s_ = now_s_ + kRest_s;
      go_to(rung_ / kStep, false);
      return;
    }
    on_trial_ = tested_again_ = false;
    passed_at_s_ = now_s_;
  } else if (rung_ > 1.01 * kFirst && now_s_ - passed_at_s_ >= kProof_s) {
    passed_at_s_ = again_at_s_ = now_s_;
    tested_again_ = true;
    go_to(rung_ / kStep, false);
    return;
  }
  if (here_.mean() > limit && now_s_ >= again_at_s_ && rung_ < 0.99 * kTop) {
    below_ = here_;
    go_to(std::min(rung_ * kStep, kTop), true);
  } else {
    tested_again_ = false;
    begin_window();
  }
}

}  // namespace wattle::placement
