#include "sim/profile/cells.hpp"

#include <algorithm>
#include <set>

#include "common/json/value.hpp"
#include "common/parse.hpp"

namespace wattle::sim::profile {
namespace {

using json = SortedJson;

OrderedJson or_null(const std::optional<double>& value) { return value ? OrderedJson(*value) : OrderedJson(nullptr); }

std::optional<double> number(const json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

void make_rising(std::vector<double>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

std::vector<Cell> cells_of(std::vector<double> quotas_cores, std::vector<double> rates_rps) {
  make_rising(quotas_cores);
  make_rising(rates_rps);
  std::vector<Cell> cells;
  for (const double quota : quotas_cores)
    for (const double rate : rates_rps) cells.push_back({quota, rate});
  return cells;
}

std::string line_of(const Cell& cell, const Measured& measured, const std::string& service) {
  OrderedJson line = {{"service", service},
                      {"quota_cores", cell.quota_cores},
                      {"rate_rps", cell.rate_rps},
                      {"seconds", measured.seconds},
                      {"due_rps", measured.due_rps},
                      {"answered_rps", measured.answered_rps},
                      {"failed", measured.failed},
                      {"p50_ms", or_null(measured.p50_ms)},
                      {"p99_ms", or_null(measured.p99_ms)},
                      {"used_cores", measured.used_cores},
                      {"throttled_ratio", or_null(measured.throttled_ratio)},
                      {"power_w", or_null(measured.power_w)},
                      {"power_source", nullptr}};
  if (!measured.power_source.empty()) line["power_source"] = measured.power_source;
  return line.dump() + "\n";
}

Result<DoneCells> done_cells(std::string_view text, const std::vector<Cell>& wanted, const std::string& service) {
  std::set<Cell> left(wanted.begin(), wanted.end());
  DoneCells done;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    ++lines;
    const json line = json::read(text.substr(at, end - at), {.text_bytes = 16 << 20, .built_bytes = 256 << 20});
    const auto bad = [&](const char* what) {
      return fail(Errc::malformed, "line " + std::to_string(lines), what, "resume only a file of the same profile");
    };
    const auto quota = number(line, "quota_cores"), rate = number(line, "rate_rps");
    if (!quota || !rate) return bad("is not a cell of a profile");
    if (!line.contains("service") || line["service"] != json(service)) return bad("is of another service");
    if (left.erase({*quota, *rate}) == 0) return bad("is not a cell of this profile, or is a duplicate");
    done.cells.push_back({*quota, *rate});
    done.bytes = at = end + 1;
  }
  return done;
}

Status read_load(std::string_view said, Measured& out) {
  const auto begin = said.find('{');
  const auto end = said.rfind('}');
  const json reported =
      begin == std::string_view::npos || end == std::string_view::npos || end < begin
          ? json::discarded()
          : json::read(said.substr(begin, end + 1 - begin), {.text_bytes = 16 << 20, .built_bytes = 256 << 20});
  const auto lasted = number(reported, "lasted_s"), due = number(reported, "due_rps"),
             answered = number(reported, "answered_rps");
  if (!lasted || !due || !answered || !reported.contains("failed") || !reported["failed"].is_object() ||
      !reported.contains("latency_ms"))
    return fail(Errc::malformed, "wattle-load", "said: " + std::string(said.substr(0, 400)),
                "run wattle-sim and wattle-load of one version");
  out.seconds = *lasted;
  out.due_rps = *due;
  out.answered_rps = *answered;
  out.failed = 0;
  for (const auto& [why, count] : reported["failed"].items())
    if (count.is_number_unsigned()) out.failed += count.get<std::uint64_t>();
  if (number(reported["latency_ms"], "count").value_or(0) == 0) return {};
  out.p50_ms = number(reported["latency_ms"], "p50");
  out.p99_ms = number(reported["latency_ms"], "p99");
  return {};
}

void read_power(std::string_view samples, Measured& out) {
  parse::for_each_line(samples, [&](std::string_view line) {
    const json sample = json::read(line, {.text_bytes = 16 << 20, .built_bytes = 256 << 20});
    if (!sample.is_object() || !sample.contains("node") || !sample["node"].is_object()) return;
    const auto power_w = number(sample["node"], "power_w");
    if (!power_w) return;
    out.power_w = power_w;
    const auto source = sample["node"].find("energy_source");
    if (source != sample["node"].end() && source->is_string()) out.power_source = source->get<std::string>();
  });
}

}  // namespace wattle::sim::profile
