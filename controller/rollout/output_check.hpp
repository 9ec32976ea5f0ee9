// output_check: checks that a network's output is in range.
// Source   the largest residual of each decision
// Verdict  nonsense: not finite, or beyond max_abs_q on any node. The verdict stays until mode, policy or reward change
// Units    Q
// Errors   none
// Threads  single owner
#pragma once

#include <cmath>
#include <optional>
#include <string>

namespace wattle::controller {

class OutputCheck {
 public:
  explicit OutputCheck(double max_abs_q) : max_abs_q_(max_abs_q) {}
  // Returns evidence; no value if the output is in range.
  std::optional<std::string> judge(double max_abs_residual) const {
    if (!std::isfinite(max_abs_residual)) return "the network's output is not a number";
    if (std::abs(max_abs_residual) <= max_abs_q_) return std::nullopt;
    return "the network's output is " + std::to_string(max_abs_residual) + ", which is out of range";
  }
  bool failed() const { return failed_; }
  void set_failed(bool failed) { failed_ = failed; }

 private:
  double max_abs_q_;
  bool failed_ = false;
};

}  // namespace wattle::controller
