#include "cli/parts.hpp"

#include <algorithm>

#include "cli/human.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

Cell state_cell(const View& node) {
  const auto connected = node["connected"].flag();
  const auto age_ms = node["age_ms"].number();
  if (!connected) return std::string(kAbsent);
  if (!*connected) return {"away", Tone::bad};
  if (!age_ms || *age_ms > kStaleAge_ms) return {"stale", Tone::bad};
  return {"up", Tone::good};
}

Cell pressure_cell(std::optional<double> ratio) {
  return {percent(ratio), ratio && *ratio >= kPressure_ratio ? Tone::warning : Tone::plain};
}

Cell latency_cell(const View& node) {
  const auto targets = node["latency"].items();
  for (const View& target : targets)
    if (const auto p50_ms = target["p50_ms"].number()) return target["target"].text_or() + " " + milliseconds(p50_ms);
  if (targets.empty()) return std::string(kAbsent);
  return {targets.front()["target"].text_or() + " lost", Tone::warning};
}

Table findings_table(const std::vector<View>& findings) {
  Table table{{{"FINDING"}, {"STATE"}, {"DETAIL"}, {"MEND"}}, {}};
  for (const View& finding : findings) {
    const std::string state = finding["state"].text_or();
    const Tone tone = state == "failed" ? Tone::bad : state == "lost" || state == "warn" ? Tone::warning : Tone::plain;
    table.rows.push_back(
        {finding["name"].text_or(), {state, tone}, finding["detail"].text_or(), finding["mend"].text_or("")});
  }
  return table;
}

std::string pod_label(const View& name, const View& name_space, const View& uid) {
  const auto known = name.text();
  if (!known) return uid.text_or();
  const auto space = name_space.text();
  return space ? *space + "/" + *known : *known;
}

std::string pairs_text(const std::vector<std::pair<std::string, Cell>>& pairs, bool colour) {
  std::size_t width = 0;
  for (const auto& [name, value] : pairs) width = std::max(width, display_width(name));
  std::string out;
  for (const auto& [name, value] : pairs)
    out += name + std::string(width - display_width(name) + 2, ' ') + toned(printable(value.text), value.tone, colour) +
           "\n";
  return out;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += between;
    out += word;
  }
  return out;
}

}  // namespace wattle::cli
