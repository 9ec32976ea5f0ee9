#include "cli/parts.hpp"

#include <algorithm>

#include "cli/human.hpp"
#include "cli/power_states.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

Cell state_cell(const View& node) {
  const std::string power = node["power"]["state"].text_or();
  if (may_be_silent(node) || power == "idle" || power == "draining" || power == "failed")
    return power_cell(node["power"]);
  const auto connected = node["connected"].flag();
  const auto age_ms = node["age_ms"].number();
  if (!connected) return std::string(kAbsent);
  if (!*connected) return {"offline", Tone::bad};
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

namespace {
Tone tone_of_state(const std::string& state) {
  return state == "failed" ? Tone::bad : state == "lost" || state == "warn" ? Tone::warning : Tone::plain;
}

// Renders state and name, then detail and fix, wrapped.
std::string finding_text(const View& finding, bool colour) {
  constexpr std::size_t kState = 8, kIndent = 4;
  const std::string state = printable(finding["state"].text_or());
  const std::size_t width = display_width(state);
  const std::string fix = finding["fix"].text_or("");
  return "  " + toned(state, tone_of_state(state), colour) + std::string(width < kState ? kState - width : 1, ' ') +
         printable(finding["name"].text_or()) + "\n" + wrapped(finding["detail"].text_or(""), kIndent) +
         (fix.empty() ? "" : wrapped("fix: " + fix, kIndent));
}

}  // namespace

void FindingsText::add(const std::string& where, const std::vector<View>& findings) {
  std::string found;
  for (const View& finding : findings)
    if (style_.wide || finding["state"].text() != "ok") found += finding_text(finding, style_.colour);
  if (found.empty()) return;
  const auto same =
      std::find_if(groups_.begin(), groups_.end(), [&](const auto& group) { return group.first == found; });
  if (same == groups_.end())
    groups_.push_back({found, {where}});
  else if (same->second.back() != where)
    same->second.push_back(where);
}

std::string FindingsText::text() const {
  std::string out;
  for (const auto& [found, where] : groups_) out += "\n" + printable(first_of(where)) + "\n" + found;
  return out;
}

std::optional<double> most_pressure(const View& psi) {
  std::optional<double> most;
  for (const char* kind : {"cpu_some_ratio", "memory_some_ratio", "io_some_ratio"})
    if (const auto ratio = psi[kind].number()) most = std::max(most.value_or(0), *ratio);
  return most;
}

std::string decider_of(const View& decision) {
  const std::string by = decision["decided_by"].text_or(), reason = decision["reason"].text_or("");
  if (by != "rule") return by;
  constexpr std::string_view kChoice = "the choice of the policy ";
  if (!reason.starts_with(kChoice)) return decision["policy"].text_or();
  return reason.substr(kChoice.size(), reason.find(':') - kChoice.size());
}

std::string pod_label(const View& name, const View& name_space, const View& uid) {
  const auto known = name.text();
  if (!known) return uid.text_or();
  const auto space = name_space.text();
  return space ? *space + "/" + *known : *known;
}

namespace {
std::string budget_text(const View& budget, const std::string& price) {
  const auto share = [&budget](std::string_view key) {
    const auto value = budget[key].number();
    return value ? number(100 * *value, 1) + "%" : std::string(kAbsent);
  };
  const std::string unknown = "the default scheduler's share is unknown";
  if (budget["in_force"].flag() == false)
    return "no budget: none is set, and " + unknown + "; measured " + share("measured");
  const bool known = budget["under_default"].number().has_value();
  const auto used = budget["used_ratio"].number();
  return "at most " + share("limit") + " of pods' time" +
         (budget["set"].flag() == true ? ""
          : known                      ? ", the share under the default scheduler"
                                       : ", the minimum, because " + unknown) +
         "; measured " + share("measured") +
         (used && *used > 1 ? ", " + number(used, 1) + " times the budget" : std::string()) + "; default scheduler " +
         share("under_default") + "; price " + price;
}

Cell budget_cell(const View& budget, const std::string& text) {
  return {text, budget["exceeded"].flag() == true ? Tone::bad : Tone::plain};
}
}  // namespace

Cell waiting_cell(const View& cpu_wait) {
  return budget_cell(cpu_wait, budget_text(cpu_wait, number(cpu_wait["price_w"], 1) + " W per core"));
}

Cell late_cell(const View& late) { return budget_cell(late, budget_text(late, number(late["price"], 1) + " times")); }

std::string cost_text(const View& object, const std::string& ending) {
  const auto cost = object["cost" + ending].number(), co2_g = object["co2_g" + ending].number();
  std::string text = cost ? money(cost, object["currency"].text_or("")) : std::string();
  if (co2_g) text += (text.empty() ? "" : ", ") + grams(co2_g) + " CO2";
  return text;
}

std::string cost_cell(const View& object) {
  const std::string text = cost_text(object);
  return text.empty() ? std::string(kAbsent) : text;
}

std::string modelled_text(const View& modelled) {
  const std::string cost = cost_text(modelled, "_per_day");
  return modelled["text"].text_or() +
         (modelled["energy_j_per_day"].present()
              ? "; " + joules(modelled["energy_j_per_day"].number()) + (cost.empty() ? "" : ", " + cost) + " per day"
              : std::string());
}

std::string power_text(const View& status) {
  const auto all = status["power_w"].number(), estimated = status["estimated_w"].number();
  if (!estimated) return watts(all);
  return all == estimated ? watts(all, "estimated") : watts(all) + ", of which " + watts(estimated, "estimated");
}

std::optional<double> active_w(const View& node) {
  const auto power_w = node["power_w"].number(), idle_w = node["idle_w"].number();
  return power_w && idle_w ? std::optional(std::max(0.0, *power_w - *idle_w)) : std::nullopt;
}

std::string idle_text(const View& idle) {
  if (!idle["power_w"].present()) return std::string(kAbsent);
  const auto daily = [](const View& part) {
    const std::string cost = cost_text(part, "_per_day");
    return joules(part["energy_j_per_day"]) + (cost.empty() ? "" : ", " + cost) + " per day";
  };
  const View sleeping = idle["sleeping"];
  std::string text = watts(idle["power_w"].number()) + " (" + percent(idle["ratio"].number()) + "), " + daily(idle);
  if (const auto nodes = sleeping["nodes"].number(); nodes && *nodes > 0)
    text += "; " + watts(sleeping["power_w"].number()) + " less, " + daily(sleeping) + ", if " +
            sleeping["assumption"].text_or();
  return text;
}

std::string status_line(const View& status) {
  const std::string cost = cost_text(status, "_per_day");
  return status["mode"].text_or() + " " + status["policy"].text_or() + " | nodes " + count(status["nodes_connected"]) +
         "/" + count(status["nodes"]) + asleep_text(status) + " | " + power_text(status) +
         (cost.empty() ? "" : ", " + cost + " per day") + " | workloads " + count(status["workloads"]) +
         " | decisions " + count(status["decisions"]) + ", " + number(status["decisions_per_s"], 1) + "/s";
}

namespace {
// The lines of a value: one per part between "; ", wrapped beside a column of this width.
std::vector<std::string> value_lines(std::string_view value, std::size_t indent) {
  constexpr std::string_view kBetween = "; ";
  std::vector<std::string> lines;
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t end = std::min(value.find(kBetween, from), value.size());
    parse::for_each_line(wrapped(std::string(value.substr(from, end - from)), indent),
                         [&](std::string_view line) { lines.emplace_back(line.substr(indent)); });
    from = end + kBetween.size();
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}
}  // namespace

std::string pairs_text(const std::vector<std::pair<std::string, Cell>>& pairs, bool colour) {
  std::size_t width = 0;
  for (const auto& [name, value] : pairs) width = std::max(width, display_width(name));
  width += 2;
  std::string out;
  for (const auto& [name, value] : pairs) {
    std::string before = name + std::string(width - display_width(name), ' ');
    for (const std::string& line : value_lines(value.text, width)) {
      out += before + toned(line, value.tone, colour) + "\n";
      before = std::string(width, ' ');
    }
  }
  return out;
}

Status add_weights(const std::vector<std::string>& given, std::map<std::string, std::string>& arguments) {
  for (const std::string& weight : given) {
    const auto equals = weight.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Errc::malformed, "--weight " + weight, "is not NAME=NUMBER", "for example --weight energy=2");
    arguments["weight." + weight.substr(0, equals)] = weight.substr(equals + 1);
  }
  return {};
}

std::string first_of(std::vector<std::string> names) {
  constexpr std::size_t kNamed = 3;
  const std::size_t more = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - more);
  return joined(names, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
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
