// human: formats numbers for people. A missing value is "-".
// Units    in: as the name says; out: with their unit, binary prefixes for bytes, decimal ones for joules
// Errors   none
// Threads  any
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wattle::cli {

inline constexpr std::string_view kAbsent = "-";

std::string number(std::optional<double> value, int digits);
std::string count(std::optional<double> value);
std::string bytes(std::optional<double> value_bytes);
std::string bytes_per_s(std::optional<double> value);
std::string percent(std::optional<double> ratio);
std::string milliseconds(std::optional<double> value_ms);
std::string microseconds(std::optional<double> value_us);
std::string joules(std::optional<double> value_j);
// "12.34 EUR", "0.0052 EUR"; "530 g", "1.2 kg"
std::string money(std::optional<double> value, const std::string& currency);
std::string grams(std::optional<double> value_g);
// "410ms", "12s", "3m05s", "2h05m", "3d04h"
std::string age(std::optional<double> value_ms);
std::string age_s(std::optional<double> value_s);
// "61.2 W rapl", or "12.3 W est" for a model's estimate. Sums have no source: "812.5 W".
std::string watts(std::optional<double> value_w, std::string_view energy_source = {});
// Formats Unix time as "2026-11-21 06:07:31Z".
std::string utc(std::optional<double> wall_ns);
std::string utc_s(std::optional<double> wall_s);

}  // namespace wattle::cli
