#include "common/rate_trace.hpp"

#include "common/parse.hpp"

namespace wattle {

namespace {
const char* const kRatesForm = "write one number of requests per second from 0 to 1000000 on each line";
}  // namespace

Result<RateTrace> parse_rates(std::string_view text, const std::string& file) {
  RateTrace trace;
  trace.name = file.substr(file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1);
  std::size_t line_number = 0, bad = 0;
  parse::for_each_line(text, [&](std::string_view line) {
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    line = parse::trim(line);
    if (line.empty() || bad != 0) return;
    const auto rate = parse::real(line);
    if (!rate || *rate < 0 || *rate > kMostRateRps) {
      bad = line_number;
      return;
    }
    trace.rates_rps.push_back(*rate);
  });
  if (bad != 0) return fail(Errc::malformed, file + ":" + std::to_string(bad), "is not a rate", kRatesForm);
  if (trace.rates_rps.empty()) return fail(Errc::malformed, file, "contains no rates", kRatesForm);
  if (trace.rates_rps.size() > kMostTraceSeconds)
    return fail(Errc::out_of_range, file, "is longer than a week", kRatesForm);
  return trace;
}

void scale(RateTrace& trace, double factor) {
  for (double& rate : trace.rates_rps) rate *= factor;
}

}  // namespace wattle
