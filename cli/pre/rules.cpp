#include "cli/pre/rules.hpp"

#include "cli/human.hpp"
#include "common/parse.hpp"

namespace wattle::cli {

namespace {
// Total weight of the plugins to outvote: NodeResourcesFit, BalancedAllocation, ImageLocality, 100 each.
constexpr double kOutvoted = 300;
// The winner has 10 and the others at most 5, each times ten times the weight.
constexpr double kPointsPerWeight = 10.0 * (10 - 5);
constexpr double kUsualWeight = 6, kLargestWeight = 12;
constexpr double kLongTimeout_s = 0.5, kShortTimeout_s = 0.03;
}  // namespace

void judge_weight(Findings& out, const std::string& name, std::optional<double> weight) {
  const std::string fix = "set it to " + number(kUsualWeight, 0);
  if (!weight || *weight <= 0)
    return out.failed(name, "the weight is not positive; kube-scheduler does not start", fix);
  const std::string worth =
      number(*weight, 0) + ": the best node gains " + number(*weight * kPointsPerWeight, 0) + " points";
  if (*weight * kPointsPerWeight < kOutvoted)
    return out.warn(name, worth + ", but fit, balance and image locality together weigh " + number(kOutvoted, 0), fix);
  if (*weight > kLargestWeight)
    return out.warn(name, worth + ": this overrides users' soft affinity and spreading", fix);
  out.ok(name, worth);
}

void judge_timeout(Findings& out, const std::string& name, const std::optional<std::string>& text) {
  const std::string fix = "set it to 50ms: the shim answers within its own deadline of 20ms";
  if (!text) return out.failed(name, "not set (default 5 s): every pod waits that long if no answer comes", fix);
  const auto timeout_s = parse::duration_s(*text);
  if (!timeout_s || *timeout_s <= 0) return out.failed(name, "'" + *text + "' is not a duration", fix);
  if (*timeout_s > 1) return out.failed(name, *text + ": every pod waits that long if no answer comes", fix);
  if (*timeout_s > kLongTimeout_s) return out.warn(name, *text + ": pods wait that long while the shim is down", fix);
  if (*timeout_s < kShortTimeout_s) return out.warn(name, *text + ": too close to the shim's deadline", fix);
  out.ok(name, *text);
}

void judge_sampling(Findings& out, const std::string& name, std::optional<double> percentage) {
  const std::string fix = "set it to 100";
  if (!percentage || *percentage <= 0)
    return out.warn(name, "adaptive: kube-scheduler sends Wattle 420 of 1,000 nodes or 500 of 5,000", fix);
  if (*percentage < 100)
    return out.warn(name, number(*percentage, 0) + "%: kube-scheduler does not send Wattle the other nodes", fix);
  out.ok(name, "every node is scored");
}

std::optional<MinorVersion> parse_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto parts = parse::split(text, '.');
  if (parts.size() < 2) return std::nullopt;
  const auto minor_text = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
  const auto major = parse::integer<int>(parts[0]), minor = parse::integer<int>(minor_text);
  if (!major || !minor) return std::nullopt;
  return MinorVersion{*major, *minor};
}

}  // namespace wattle::cli
