#include "controller/modes/contest_file.hpp"

#include <nlohmann/json.hpp>

namespace wattle::controller {

namespace {
constexpr int kFormat = 1;
constexpr std::size_t kMostText = 4096;

template <class Value>
bool take(const nlohmann::json& from, const char* key, Value& value) {
  const auto found = from.find(key);
  if (found == from.end()) return false;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (!found->is_string()) return false;
    value = found->get<std::string>();
    return value.size() <= kMostText;
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (!found->is_boolean()) return false;
    value = found->get<bool>();
  } else if constexpr (std::is_same_v<Value, double>) {
    if (!found->is_number()) return false;
    value = found->get<double>();
  } else {
    if (!found->is_number_unsigned()) return false;
    value = found->get<Value>();
  }
  return true;
}
}  // namespace

std::string contest_text(const ContestKept& kept) {
  const placement::ContestState& state = kept.state;
  const nlohmann::json text{{"format", kFormat},          {"of", kept.of.substr(0, kMostText)},
                            {"network", kept.network},    {"why", kept.why},
                            {"left_out", state.left_out}, {"evidence", state.evidence},
                            {"mean", state.mean},         {"mean_square", state.mean_square},
                            {"blocks", state.blocks},     {"changes", state.changes}};
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<ContestKept> parse_contest(std::string_view text) {
  const auto wrong = [](const std::string& what) {
    return fail(Errc::malformed, std::string(kContestFile), what, "remove the file: the contest begins anew");
  };
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return wrong("is no JSON object");
  std::uint64_t format = 0;
  if (!take(json, "format", format) || format != kFormat) return wrong("is of another format");
  ContestKept kept;
  placement::ContestState& state = kept.state;
  const bool whole = take(json, "of", kept.of) && take(json, "network", kept.network) && take(json, "why", kept.why) &&
                     take(json, "left_out", state.left_out) && take(json, "evidence", state.evidence) &&
                     take(json, "mean", state.mean) && take(json, "mean_square", state.mean_square) &&
                     take(json, "blocks", state.blocks) && take(json, "changes", state.changes);
  if (!whole) return wrong("lacks a field, or has one of another kind");
  placement::Contest contest;
  if (!contest.restore(state)) return wrong("says what no contest can be in");
  return kept;
}

}  // namespace wattle::controller
