#include "agent/latency.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <atomic>

#include "common/http/server.hpp"
#include "tests/patience.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace std::chrono_literals;

namespace {
// Output of client libraries for Go, Java and Python: help, types, other families, exemplars, times, exponents.
const std::string kPage =
    "# HELP http_seconds Latency, with a \"quote\" and http_seconds_bucket{le=\"9\"} 9\n"
    "# TYPE http_seconds histogram\n"
    "http_seconds_bucket{code=\"200\",le=\"0.05\"} 80\n"
    "http_seconds_bucket{code=\"200\",le=\"0.1\"} 90 1700000000000\n"
    "http_seconds_bucket{code=\"200\",le=\"2.5e-01\"} 97.0\n"
    "http_seconds_bucket{code=\"200\",le=\"+Inf\"} 1e+02 # {trace_id=\"x\"} 3.1\r\n"
    "http_seconds_sum{code=\"200\"} 12.5\n"
    "http_seconds_count{code=\"200\"} 100\n"
    "\n"
    "http_seconds_bucket{ code = \"500\", path=\"/a\\\"b\\\\n}{\", le=\"0.05\", } 0\n"
    "http_seconds_bucket{code=\"500\",path=\"/a\\\"b\\\\n}{\",le=\"0.1\"} 1\n"
    "http_seconds_bucket{code=\"500\",path=\"/a\\\"b\\\\n}{\",le=\"0.25\"} 4\n"
    "http_seconds_bucket{code=\"500\",path=\"/a\\\"b\\\\n}{\",le=\"+Inf\"} 10\n"
    "http_seconds_bucketful{le=\"x\"} y\n"
    "up 1\n";

Result<LateRequests> read(const std::string& page, double target_s, std::map<std::string, std::string> labels = {}) {
  return read_late_requests(page, {"http_seconds", std::move(labels), target_s});
}

// One bucket and the total.
std::string small_page(std::uint64_t within, std::uint64_t all) {
  return "http_seconds_bucket{le=\"0.1\"} " + std::to_string(within) + "\nhttp_seconds_bucket{le=\"+Inf\"} " +
         std::to_string(all) + "\n";
}
}  // namespace

TEST_CASE("requests above the target are counted over all or the selected label sets of a metrics page") {
  const auto all = read(kPage, 0.1);
  REQUIRE(all);
  CHECK(all->count == 110);
  CHECK(all->over == 19);
  CHECK(all->bound_s == 0.1);
  const auto some = read(kPage, 0.1, {{"path", "/a\"b\\n}{"}});
  REQUIRE(some);
  CHECK(some->count == 10);
  CHECK(some->over == 9);
  // Between two bounds the lower one counts.
  CHECK(read(kPage, 0.2)->over == 19);
  CHECK(read(kPage, 0.2)->bound_s == 0.1);
  CHECK(read(kPage, 100)->over == 9);
}

TEST_CASE("a page without the histogram gets an error with its cause and fix") {
  const auto refuses = [](const std::string& page, Errc code, std::string_view word) {
    INFO(page.substr(0, 200));
    const auto late = read(page, 0.1);
    REQUIRE_FALSE(late);
    CHECK(late.error().code == code);
    CHECK(late.error().subject == "http_seconds");
    CHECK(late.error().message().find(word) != std::string::npos);
  };
  refuses("", Errc::not_found, "_bucket");
  refuses("<html>", Errc::not_found, "_bucket");
  refuses("http_seconds_bucket{le=\"0.1\"} 5\n", Errc::malformed, "+Inf");
  refuses("http_seconds_bucket{le=\"0.5\"} 5\nhttp_seconds_bucket{le=\"+Inf\"} 5\n", Errc::out_of_range, "0.5");
  refuses(small_page(6, 5), Errc::malformed, "more requests");
  for (const char* line : {" 5", "{} 5", "{le=\"0.1\"}", "{le=\"0.1\"} -1", "{le=\"0.1\"} NaN", "{le=\"0.1\"} 1e17",
                           "{le=\"0.1\" 5", "{le=\"0.1} 5", "{le=0.1} 5", "{le=\"0.1\",le=\"0.1\"} 5", "{le=\"x\"} 5",
                           "{le=\"0.1\\", "{le=\"nan\"} 5", "{a=\"b\"c=\"d\",le=\"0.1\"} 5"})
    refuses("up 1\nhttp_seconds_bucket" + std::string(line) + "\n", Errc::malformed, "line 2");
  std::string unlike = small_page(5, 5) + "http_seconds_bucket{a=\"b\",le=\"+Inf\"} 5\n";
  refuses(unlike, Errc::malformed, "labels");
  std::string bounds, lines;
  for (std::size_t i = 0; i <= kMaxBounds; ++i) bounds += "http_seconds_bucket{le=\"" + std::to_string(i) + "\"} 1\n";
  refuses(bounds, Errc::out_of_range, "256 bounds");
  for (std::size_t i = 0; i <= kMaxBucketLines; ++i) lines += "http_seconds_bucket{le=\"1\"} 1\n";
  refuses(lines, Errc::out_of_range, "20000 lines");
}

TEST_CASE("for any damaged page, counts stay consistent") {
  CHECK(rc::check([] {
    std::string page = kPage;
    const int changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, page.size());
      const int what = *rc::gen::inRange(0, 3);
      if (what == 0) page[at] = *rc::gen::arbitrary<char>();
      if (what == 1) page.insert(at, 1, *rc::gen::element('"', '\\', '{', '}', ',', '=', '\n', '9'));
      if (what == 2) page.erase(at, *rc::gen::inRange<std::size_t>(1, 40));
      if (page.empty()) page = "x";
    }
    const auto late = read(page, 0.1);
    if (late) RC_ASSERT(late->over <= late->count && late->bound_s <= 0.1001);
  }));
}

TEST_CASE("readings are summed over restarts of a service, without double or negative counts") {
  LateRequestSum sum;
  sum.add({1000, 500, 0.1});  // from before the first reading
  CHECK(sum.sum() == actuation::Requests{0, 0});
  sum.add({1100, 510, 0.1});
  CHECK(sum.sum() == actuation::Requests{100, 10});
  sum.add({40, 2, 0.1});
  sum.add({60, 3, 0.1});
  CHECK(sum.sum() == actuation::Requests{120, 11});
  sum.add({60, 1, 0.1});   // lines from different moments
  sum.add({61, 30, 0.1});  // also from different moments
  CHECK(sum.sum() == actuation::Requests{121, 12});
}

TEST_CASE("a service's page is polled; while it is invalid its latency is unknown") {
  std::atomic<std::uint64_t> asked = 0;
  std::atomic<int> answer_kind = 0;
  const Log log = Log::silent();
  auto server = http::Server::start({},
                                    {{"GET /metrics",
                                      [&](const http::Request&) {
                                        const std::uint64_t n = ++asked;
                                        http::Response out{200, "text/plain", small_page(9 * n, 10 * n), {}, {}};
                                        if (answer_kind == 1) out.body = "nonsense";
                                        if (answer_kind == 2) out.status = 500;
                                        if (answer_kind == 3) out.body.assign(3 << 20, '#');
                                        return out;
                                      }}},
                                    log);
  REQUIRE(server);
  LatencySource source{"web.service", "127.0.0.1", server->port(), "/metrics", {"http_seconds", {}, 0.1}};
  LatencySource none{"b.service", "127.0.0.1", 1, "/metrics", {"http_seconds", {}, 0.1}};
  Latency latency({none, source}, log, {5ms, 5ms});
  const auto known = [&](std::uint64_t least) {
    const auto totals = latency.totals();
    CHECK_FALSE(totals.contains("b.service"));
    const auto found = totals.find("web.service");
    return found != totals.end() && found->second.count >= least && found->second.over * 10 == found->second.count;
  };
  const auto until = [](const auto& true_now) { return tests::wait_until(true_now); };
  CHECK(until([&] { return known(100); }));
  for (int next = 1; next <= 3; ++next) {
    answer_kind = next;
    CHECK(until([&] { return !known(0); }));
    answer_kind = 0;
    CHECK(until([&] { return known(0); }));
  }
}

TEST_CASE("destruction does not wait for a service that does not answer") {
  const Log log = Log::silent();
  std::atomic<bool> inside = false, leave = false;
  auto server = http::Server::start({},
                                    {{"GET /metrics",
                                      [&](const http::Request&) {
                                        inside = true;
                                        tests::wait_until([&] { return leave.load(); });
                                        return http::Response{};
                                      }}},
                                    log);
  REQUIRE(server);
  {
    Latency latency({{"a.service", "127.0.0.1", server->port(), "/metrics", {"h", {}, 0.1}}}, log);
    REQUIRE(tests::wait_until([&] { return inside.load(); }));
    CHECK(latency.totals().empty());
  }
  leave = true;
}
