#include "controller/power/exec_answer.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "common/json/value.hpp"
#include "common/nearest.hpp"
#include "controller/power/kept_output.hpp"

namespace wattle::controller::power {
namespace {

using Json = SortedJson;
constexpr JsonLimits kExecLimits{64 << 10, 1 << 20, 8};
constexpr double kMostExecPowerW = 100'000, kMostExecWakeS = 3600;
constexpr const char* kObserveExample = R"(print for example {"state": "off"})";
constexpr const char* kProbeExample = R"(print for example {"depths": ["off"]})";

struct Source {
  std::string_view text;
  const std::string& program;
  const char* example;

  tl::unexpected<Error> nonsense(const std::string& what) const {
    return fail(Errc::malformed, program, with_output(what, text), example);
  }
};

Result<Json> parse_printed(const Source& source, const std::vector<std::string>& members) {
  Json document = Json::read(source.text, kExecLimits);
  if (!document.is_object()) return source.nonsense("did not print a JSON object");
  for (const auto& [key, value] : document.items())
    if (std::find(members.begin(), members.end(), key) == members.end())
      return source.nonsense("printed an unknown member (" +
                             did_you_mean(key, members, "known: " + comma_list(members)) + ")");
  return document;
}

Result<std::optional<double>> number(const Source& source, const Json& document, const char* key, double most) {
  const Json* found = document.member(key);
  if (found == nullptr) return std::optional<double>();
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!(value >= 0 && value <= most))
    return source.nonsense(std::string("printed a ") + key + " that is not a number from 0 to " +
                           std::to_string(static_cast<long>(most)));
  return std::optional<double>(value);
}

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<std::string_view, N>& names, const Json& word) {
  if (!word.is_string()) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), word.string());
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(std::distance(names.begin(), found));
}

}  // namespace

Result<Observation> parse_exec_observation(std::string_view text, const std::string& program) {
  const Source source{text, program, kObserveExample};
  WATTLE_TRY(const Json document, parse_printed(source, {"state", "power_w"}));
  const auto state = index_of(kPowerStateNames, document["state"]);
  if (!state) return source.nonsense("printed no state on, off or unknown");
  Observation out{static_cast<PowerState>(*state)};
  WATTLE_TRY(out.power_w, number(source, document, "power_w", kMostExecPowerW));
  return out;
}

Result<Capabilities> parse_exec_capabilities(std::string_view text, const std::string& program) {
  const Source source{text, program, kProbeExample};
  WATTLE_TRY(const Json document, parse_printed(source, {"depths", "wake_time_s", "asleep_power_w"}));
  Capabilities out{.depths = {}, .can_wake = true, .can_observe = true};
  if (!document["depths"].is_array()) return source.nonsense("printed no list of depths");
  for (const Json& word : document["depths"]) {
    const auto depth = index_of(kDepthNames, word);
    if (!depth) return source.nonsense("printed a depth that is neither suspend nor off");
    out.depths.push_back(static_cast<Depth>(*depth));
  }
  std::sort(out.depths.begin(), out.depths.end());
  out.depths.erase(std::unique(out.depths.begin(), out.depths.end()), out.depths.end());
  WATTLE_TRY(out.wake_s, number(source, document, "wake_time_s", kMostExecWakeS));
  WATTLE_TRY(out.asleep_w, number(source, document, "asleep_power_w", kMostExecPowerW));
  return out;
}

}  // namespace wattle::controller::power
