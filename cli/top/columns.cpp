#include "cli/top/columns.hpp"

#include <algorithm>
#include <array>

#include "cli/parts.hpp"

namespace wattle::cli::top {

namespace {
using Number = std::optional<double>;

Number share(Number part, Number whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole;
}

Number latency_ms(const View& node) {
  for (const View& target : node["latency"].items())
    if (const auto p50_ms = target["p50_ms"].number()) return p50_ms;
  return std::nullopt;
}

Number pressure(const View& row) { return most_pressure(row["psi"]); }
Number power(const View& row) { return row["power_w"].number(); }

constexpr std::array kNodeKeys{
    SortKey{'W', "POWER", power},
    SortKey{'N', "NODE", nullptr},
    SortKey{'C', "CPU",
            [](const View& row) { return share(row["cpu_used_cores"].number(), row["cpu_cores"].number()); }},
    SortKey{
        'M', "MEM",
        [](const View& row) { return share(row["memory_used_bytes"].number(), row["memory_total_bytes"].number()); }},
    SortKey{'P', "PRESSURE", pressure},
    SortKey{'D', "PODS", [](const View& row) { return row["pods"].number(); }},
    SortKey{'L', "LATENCY", latency_ms},
    SortKey{'A', "AGE", [](const View& row) { return row["age_ms"].number(); }}};

constexpr std::array kWorkloadKeys{SortKey{'W', "POWER", power},
                                   SortKey{'N', "POD", nullptr},
                                   SortKey{'C', "CPU", [](const View& row) { return row["cpu_cores"].number(); }},
                                   SortKey{'M', "MEMORY", [](const View& row) { return row["memory_bytes"].number(); }},
                                   SortKey{'E', "ENERGY", [](const View& row) { return row["energy_j"].number(); }},
                                   SortKey{'P', "PRESSURE", pressure},
                                   SortKey{'A', "AGE", [](const View& row) { return row["age_s"].number(); }}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}
}  // namespace

std::span<const SortKey> node_keys() { return kNodeKeys; }
std::span<const SortKey> workload_keys() { return kWorkloadKeys; }

std::string node_name(const View& node) { return node["name"].text_or(); }
std::string workload_name(const View& workload) {
  return pod_label(workload["name"], workload["namespace"], workload["uid"]);
}

std::vector<View> sorted(std::vector<View> rows, const SortKey& key, bool turned, Name name) {
  struct Ranked {
    View row;
    std::optional<double> value;
    std::string name;
  };
  std::vector<Ranked> ranked;
  ranked.reserve(rows.size());
  for (const View& row : rows) ranked.push_back({row, key.value == nullptr ? std::nullopt : key.value(row), name(row)});
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    if (key.value == nullptr) return turned ? b.name < a.name : a.name < b.name;
    if (a.value.has_value() != b.value.has_value()) return a.value.has_value();
    if (a.value && *a.value != *b.value) return turned ? *a.value < *b.value : *b.value < *a.value;
    return a.name < b.name;
  });
  std::transform(ranked.begin(), ranked.end(), rows.begin(), [](const Ranked& each) { return each.row; });
  return rows;
}

std::vector<View> filtered(std::vector<View> rows, std::string_view text, Name name) {
  if (text.empty()) return rows;
  const std::string wanted = lower(text);
  std::erase_if(rows, [&](const View& row) {
    return lower(name(row)).find(wanted) == std::string::npos &&
           (!row["connected"].present() || state_cell(row).text.find(wanted) == std::string::npos);
  });
  return rows;
}

}  // namespace wattle::cli::top
