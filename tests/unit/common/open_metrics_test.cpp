#include "common/open_metrics.hpp"

#include <doctest/doctest.h>

using namespace wattle;

TEST_CASE("a client gets OpenMetrics if it prefers it to the text format") {
  CHECK(prefers_open_metrics("application/openmetrics-text"));
  CHECK(prefers_open_metrics("application/openmetrics-text;version=1.0.0,text/plain"));
  CHECK(prefers_open_metrics(
      "application/openmetrics-text; version=1.0.0; q=0.5, text/plain;version=0.0.4;q=0.3, */*;q=0.1"));
  CHECK_FALSE(prefers_open_metrics(""));
  CHECK_FALSE(prefers_open_metrics("*/*"));
  CHECK_FALSE(prefers_open_metrics("text/plain;version=0.0.4"));
  CHECK_FALSE(prefers_open_metrics("text/plain,application/openmetrics-text;q=0.5"));
  CHECK_FALSE(prefers_open_metrics("application/openmetrics-text;q=0"));
  CHECK_FALSE(prefers_open_metrics("application/openmetrics-text;version=2.0.0"));
  CHECK_FALSE(prefers_open_metrics(";;,;q=,application/openmetrics-text;q=x"));
}

TEST_CASE("counters lose _total only in their family's name, whole bounds get a fraction, and the page ends with EOF") {
  CHECK(open_metrics("# HELP a_total Counts a_total.\n# TYPE a_total counter\na_total{le=\"x\"} 3\n"
                     "# HELP b_total A gauge.\n# TYPE b_total gauge\nb_total 1\n"
                     "# HELP c Seconds.\n# TYPE c histogram\nc_bucket{n=\"1\",le=\"5\"} 1\nc_bucket{le=\"0.5\"} 0\n"
                     "c_bucket{le=\"+Inf\"} 1\nc_sum 1.5\nc_count 1\n# TYPE d untyped\nd 1\n") ==
        "# HELP a Counts a_total.\n# TYPE a counter\na_total{le=\"x\"} 3\n"
        "# HELP b_total A gauge.\n# TYPE b_total gauge\nb_total 1\n"
        "# HELP c Seconds.\n# TYPE c histogram\nc_bucket{n=\"1\",le=\"5.0\"} 1\nc_bucket{le=\"0.5\"} 0\n"
        "c_bucket{le=\"+Inf\"} 1\nc_sum 1.5\nc_count 1\n# TYPE d unknown\nd 1\n# EOF\n");
  CHECK(open_metrics("") == "# EOF\n");
}

TEST_CASE("a request without an Accept header gets the text format unchanged") {
  const MetricsPage page = metrics_page("a 1\n", {});
  CHECK(page.body == "a 1\n");
  CHECK(page.content_type == "text/plain; version=0.0.4; charset=utf-8");
  const MetricsPage open = metrics_page("a 1\n", {{"accept", "application/openmetrics-text"}});
  CHECK(open.body == "a 1\n# EOF\n");
  CHECK(open.content_type == "application/openmetrics-text; version=1.0.0; charset=utf-8");
}
