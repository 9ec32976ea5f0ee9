// open_metrics: the page of /metrics in the format that the client prefers.
// Source   Prometheus' text format 0.0.4; OpenMetrics 1.0,
//          https://prometheus.io/docs/specs/om/open_metrics_spec/
// Rules    OpenMetrics names the family of a counter without _total, writes bounds of buckets as floats and ends with
//          "# EOF"; all else is the same in both
// Errors   none: a client without an Accept header gets the text format
// Threads  pure
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace wattle {

// Returns true if the Accept header prefers OpenMetrics 1.0 to the text format, or both equally.
bool prefers_open_metrics(std::string_view accept);
// Converts a page of the text format.
std::string open_metrics(std::string_view text);

struct MetricsPage {
  std::string content_type, body;
};
// `headers`: those of the request, by lower-case name.
MetricsPage metrics_page(std::string text, const std::map<std::string, std::string>& headers);

}  // namespace wattle
