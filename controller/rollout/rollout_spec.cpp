#include "controller/rollout/rollout_spec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "common/digest.hpp"
#include "common/nearest.hpp"
#include "common/parse.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

constexpr std::array<std::string_view, 4> kModes = {"off", "shadow", "canary", "live"};
constexpr std::array<std::string_view, 5> kArms = {"off", "shadow", "control", "treated", "live"};
constexpr std::array<std::pair<std::string_view, double placement::RewardWeights::*>, 7> kWeights{{
    {"energy", &placement::RewardWeights::energy},
    {"latency", &placement::RewardWeights::latency},
    {"balance", &placement::RewardWeights::balance},
    {"active_nodes", &placement::RewardWeights::active_nodes},
    {"packing", &placement::RewardWeights::packing},
    {"contention", &placement::RewardWeights::contention},
    {"failure", &placement::RewardWeights::failure},
}};
constexpr double kMaxWeight = 100;

Status read_number(const std::string& name, const std::string& text, double low, double high, double& out) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return fail(Errc::malformed, name, "'" + text + "' is not a number");
  if (value < low || value > high)
    return fail(Errc::out_of_range, name, "is " + text, std::to_string(low) + " to " + std::to_string(high));
  out = value;
  return {};
}

// "0.02", "2%"; "default": the default scheduler's share.
Status read_share(const std::string& name, const std::string& text, std::optional<double>& out) {
  out.reset();
  if (text == "default") return {};
  const bool percent = text.ends_with('%');
  double value = 0;
  WATTLE_CHECK(read_number(name, percent ? text.substr(0, text.size() - 1) : text, percent ? 0.01 : 0.0001,
                           percent ? 100 : 1, value));
  out = percent ? value / 100 : value;
  return {};
}

}  // namespace

std::string_view to_string(Mode mode) { return kModes[static_cast<std::size_t>(mode)]; }
std::string_view to_string(Arm arm) { return kArms[static_cast<std::size_t>(arm)]; }

std::string ModeSetting::text() const {
  if (mode != Mode::canary) return std::string(to_string(mode));
  return "canary:" + std::to_string(std::lround(100 * share)) + "%";
}

Result<ModeSetting> parse_mode(std::string_view text) {
  for (std::size_t i = 0; i < kModes.size(); ++i)
    if (kModes[i] == text) return ModeSetting{static_cast<Mode>(i)};
  constexpr std::string_view kCanary = "canary:";
  if (text.starts_with(kCanary) && text.ends_with('%')) {
    const auto percent = parse::u64(text.substr(kCanary.size(), text.size() - kCanary.size() - 1));
    if (percent && *percent >= 5 && *percent <= 95 && *percent % 5 == 0)
      return ModeSetting{Mode::canary, static_cast<double>(*percent) / 100};
  }
  return fail(Errc::malformed, "mode " + std::string(text), "unknown",
              did_you_mean(text, {"off", "shadow", "canary:10%", "live"},
                           "use one of off, shadow, canary:P% (P = 5, 10, ... 95), live"));
}

ArmNow arm_at(const RolloutSpec& spec, WallTime now) {
  switch (spec.mode.mode) {
    case Mode::off:
      return {Arm::off, false};
    case Mode::shadow:
      return {Arm::shadow, true};
    case Mode::live:
      return {Arm::live, true};
    case Mode::canary:
      break;
  }
  const Block block = block_at(spec.schedule, now);
  return {block.treated ? Arm::treated : Arm::control, block.measured};
}

json reward_json(const placement::RewardConfig& reward) {
  json weights = json::object();
  for (const auto& [name, member] : kWeights) weights[std::string(name)] = reward.weights.*member;
  return {{"preset", placement::to_string(reward.preset)},
          {"load", placement::to_string(reward.load)},
          {"reference_w", reward.reference_w},
          {"horizon_s", reward.horizon_s},
          {"expression", reward.formula.empty() ? json(nullptr) : json(reward.formula.text())},
          {"weights", std::move(weights)}};
}

std::string ranking_of(const RolloutSpec& spec) { return spec.policy + " " + reward_json(spec.reward).dump(); }

std::string reward_id(const placement::RewardConfig& reward) {
  constexpr std::size_t kShown = 16;
  return sha256_hex(reward_json(reward).dump()).substr(0, kShown);
}

std::string spec_text(const RolloutSpec& spec) {
  json reward = reward_json(spec.reward);
  // Omits the expression if it is empty, so that an upgrade does not look like another configuration.
  if (spec.reward.formula.empty()) reward.erase("expression");
  json text{{"mode", spec.mode.text()},
            {"policy", spec.policy},
            {"reward", std::move(reward)},
            {"experiment", {{"seed", spec.schedule.seed}, {"began_ns", to_ns(spec.schedule.began)}}}};
  if (spec.limits.cpu_wait) text["limits"]["cpu_wait"] = *spec.limits.cpu_wait;
  if (spec.limits.late) text["limits"]["late"] = *spec.limits.late;
  return text.dump();
}

Result<RolloutSpec> parse_spec(std::string_view text, const SwitchbackSchedule& lengths) {
  const json object = json::read(text, {.text_bytes = 1 << 20, .built_bytes = 16 << 20});
  std::map<std::string, std::string> arguments;
  RolloutSpec spec;
  spec.schedule = lengths;
  try {
    arguments["mode"] = object.at("mode").get<std::string>();
    arguments["policy"] = object.at("policy").get<std::string>();
    const json& reward = object.at("reward");
    arguments["reward"] = reward.at("preset").get<std::string>();
    arguments["load"] = reward.at("load").get<std::string>();
    if (const auto formula = reward.find("expression"); formula != reward.end() && formula->is_string())
      arguments["expression"] = formula->get<std::string>();
    for (const char* name : {"reference_w", "horizon_s"}) arguments[name] = reward.at(name).dump();
    for (const auto& [name, value] : reward.at("weights").items()) arguments["weight." + name] = value.dump();
    if (const auto limits = object.find("limits"); limits != object.end())
      for (const char* name : {"cpu_wait", "late"})
        if (const auto limit = limits->find(name); limit != limits->end()) arguments[name] = limit->dump();
    spec.schedule.seed = object.at("experiment").at("seed").get<std::uint64_t>();
    spec.schedule.began = wall_from_ns(object.at("experiment").at("began_ns").get<std::int64_t>());
  } catch (const json::exception& error) {
    return fail(Errc::malformed, "spec", error.what());
  }
  return with_changes(std::move(spec), arguments);
}

Result<RolloutSpec> with_changes(RolloutSpec spec, const std::map<std::string, std::string>& arguments) {
  for (const auto& [name, value] : arguments) {
    if (name == "mode") {
      WATTLE_TRY(spec.mode, parse_mode(value));
    } else if (name == "policy") {
      WATTLE_TRY(const auto policy, placement::parse_policy(value));
      spec.policy = policy.name;
    } else if (name == "reward") {
      WATTLE_TRY(spec.reward.preset, placement::parse_preset(value));
    } else if (name == "load") {
      WATTLE_TRY(spec.reward.load, placement::parse_load_kind(value));
    } else if (name == "expression") {
      WATTLE_TRY(spec.reward.formula, placement::Formula::compile(value));
    } else if (name == "reference_w") {
      WATTLE_CHECK(read_number(name, value, 0.001, 100'000, spec.reward.reference_w));
    } else if (name == "horizon_s") {
      WATTLE_CHECK(read_number(name, value, 1, 86'400, spec.reward.horizon_s));
    } else if (name == "cpu_wait") {
      WATTLE_CHECK(read_share(name, value, spec.limits.cpu_wait));
    } else if (name == "late") {
      WATTLE_CHECK(read_share(name, value, spec.limits.late));
    } else if (name.starts_with("weight.")) {
      const std::string weight = name.substr(std::string_view("weight.").size());
      const auto found =
          std::find_if(kWeights.begin(), kWeights.end(), [&](const auto& each) { return each.first == weight; });
      if (found == kWeights.end())
        return fail(Errc::malformed, name, "is not a weight",
                    "use energy, latency, balance, active_nodes, packing, contention or failure");
      WATTLE_CHECK(read_number(name, value, 0, kMaxWeight, spec.reward.weights.*found->second));
    }
  }
  if (spec.reward.preset == placement::Preset::expression && spec.reward.formula.empty())
    return fail(Errc::malformed, "expression", "is missing", "preset expression needs a formula");
  spec.schedule.share = spec.mode.share;
  return spec;
}

namespace {

// Formats as an operator would write it: "0.25", "20".
std::string plain(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

// Budgets are shares: "2%", or "default" for the default scheduler's share.
std::string share_text(std::optional<double> share) {
  return share ? plain(std::round(*share * 1e6) / 1e4) + "%" : "default";
}

std::string formula_text(const placement::Formula& formula) {
  return formula.empty() ? "none" : "\"" + formula.text() + "\"";
}

// Collects "NAME OLD -> NEW" for each value that differs.
class Differences {
 public:
  void add(const std::string& name, const std::string& from, const std::string& to) {
    if (from == to) return;
    text_ += (text_.empty() ? "" : ", ") + name + " " + from + " -> " + to;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string described(const RolloutSpec& from, const RolloutSpec& to) {
  Differences found;
  found.add("mode", from.mode.text(), to.mode.text());
  found.add("policy", from.policy, to.policy);
  const placement::RewardConfig &was = from.reward, &is = to.reward;
  found.add("reward", std::string(placement::to_string(was.preset)), std::string(placement::to_string(is.preset)));
  found.add("load", std::string(placement::to_string(was.load)), std::string(placement::to_string(is.load)));
  found.add("expression", formula_text(was.formula), formula_text(is.formula));
  found.add("reference_w", plain(was.reference_w), plain(is.reference_w));
  found.add("horizon_s", plain(was.horizon_s), plain(is.horizon_s));
  for (const auto& [name, member] : kWeights)
    found.add("weight." + std::string(name), plain(was.weights.*member), plain(is.weights.*member));
  found.add("cpu_wait", share_text(from.limits.cpu_wait), share_text(to.limits.cpu_wait));
  found.add("late", share_text(from.limits.late), share_text(to.limits.late));
  return found.text().empty() ? "nothing changed" : found.text();
}

}  // namespace wattle::controller
