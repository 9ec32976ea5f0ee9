// Command `wattle-load http URL`: simulates users of an HTTP service.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "common/dir.hpp"
#include "common/http/url.hpp"
#include "load/commands.hpp"
#include "load/http_report.hpp"
#include "load/users.hpp"

namespace wattle::load {
namespace {

constexpr std::size_t kMostBodyBytes = 16 << 20;

struct HttpArguments {
  std::string url, trace, length, think = "0", timeout = "10s", method = "GET", body, arrivals = "poisson",
                                  output = "text";
  std::vector<std::string> headers;
  double rate_rps = 0, speed = 1, scale = 1;
  std::size_t users = 0, connections = 256, waiting = 100'000;
  std::uint64_t seed = 1;
  bool is_default_length() const { return length.empty(); }
};

Result<std::optional<Arrivals>> arrivals_of(const HttpArguments& arguments, Spacing spacing, Duration length) {
  if (arguments.rate_rps > 0) return Arrivals::constant(arguments.rate_rps, length, spacing, arguments.seed);
  if (arguments.trace.empty()) return std::nullopt;
  WATTLE_TRY(const std::string text, read_file(arguments.trace, kMostTraceBytes));
  WATTLE_TRY(RateTrace trace, parse_rates(text, arguments.trace));
  scale(trace, arguments.scale);
  Arrivals arrivals = Arrivals::of_trace(trace, arguments.speed, spacing, arguments.seed);
  if (!arguments.is_default_length()) arrivals.cut(length);
  return arrivals;
}

Result<UserLoad> user_load_of(const HttpArguments& arguments) {
  UserLoad load;
  const std::string example = "for example http://10.0.0.7:8080/search?q=1";
  WATTLE_TRY(http::Url url, http::parse_url(arguments.url, example));
  if (url.origin.tls)
    return fail(Errc::unsupported, arguments.url, "wattle-load does not support TLS",
                "use the plain HTTP port of the service, " + example);
  std::string body;
  if (!arguments.body.empty()) {
    WATTLE_TRY(body, read_file(arguments.body, kMostBodyBytes));
  }
  WATTLE_TRY(load.request, request_bytes(url.origin, arguments.method, url.target, arguments.headers, body));
  load.origin = std::move(url.origin);
  load.bodiless = arguments.method == "HEAD";
  const Spacing spacing = arguments.arrivals == "even" ? Spacing::even : Spacing::poisson;
  WATTLE_TRY(const Duration length, parse_span("--for", arguments.is_default_length() ? "30s" : arguments.length));
  WATTLE_TRY(load.timeout, parse_span("--timeout", arguments.timeout));
  WATTLE_TRY(load.arrivals, arrivals_of(arguments, spacing, length));
  Duration think{};
  if (arguments.think != "0") {
    WATTLE_TRY(think, parse_span("--think", arguments.think));
  }
  load.closed = {arguments.users, think, spacing, length};
  load.most_connections = arguments.connections;
  load.most_waiting = arguments.waiting;
  load.seed = arguments.seed;
  return load;
}

// Error of a run without answers.
Error nothing_answered(const HttpArguments& arguments, const Tally& tally) {
  if (tally.due == 0)
    return {Errc::not_found, arguments.url, "no request was due", "increase --for, --rate or --scale"};
  if (tally.failures() == 0)
    return {Errc::unavailable, arguments.url, "no request was answered before the run ended", ""};
  const auto most = std::max_element(tally.failed.begin(), tally.failed.end());
  return {Errc::unavailable, arguments.url,
          "no request was answered; most frequent cause: " +
              std::string(kFailureNames[static_cast<std::size_t>(most - tally.failed.begin())]),
          "check with curl -v that the service answers HTTP within --timeout"};
}

int run_http(const HttpArguments& arguments) {
  if ((arguments.rate_rps > 0) + (!arguments.trace.empty()) + (arguments.users > 0) != 1)
    return misused(
        {Errc::malformed, "http", "the load is not given, or given twice", "pass one of --rate, --trace and --users"});
  auto load = user_load_of(arguments);
  if (!load) return misused(load.error());
  auto stop = StopSignal::open_();
  if (!stop) return complain(stop.error());
  std::function<void(const Progress&)> reported;
  if (isatty(STDERR_FILENO) != 0)
    reported = [](const Progress& second) { std::fprintf(stderr, "%s\n", progress_line(second).c_str()); };
  const SystemClock clock;
  const auto tally = apply_users(*load, clock, *stop, reported);
  if (!tally) return complain(tally.error());
  if (const Status printed = print(arguments.output == "json" ? http_json(*load, *tally) : http_text(*load, *tally));
      !printed)
    return complain(printed.error());
  return tally->answered > 0 ? kOk : complain(nothing_answered(arguments, *tally));
}

}  // namespace

std::function<int()> declare_http(CLI::App& app) {
  auto arguments = std::make_shared<HttpArguments>();
  HttpArguments& to = *arguments;
  app.add_option("URL", to.url, "Address to request: http://HOST:PORT/PATH")->required();
  app.add_option("--rate", to.rate_rps, "Open loop: requests per second, independent of the answers")
      ->check(CLI::Range(1e-3, kMostRateRps));
  auto* trace =
      app.add_option("--trace", to.trace, "Open loop: file with the number of requests of one second per line")
          ->type_name("FILE");
  auto* users = app.add_option("--users", to.users,
                               "Closed loop: number of users; each waits for the answer before the next request")
                    ->check(CLI::Range(1, 20'000));
  app.add_option("--for", to.length, "Duration, for example 90s or 5m (default 30s; for a trace its whole length)");
  app.add_option("--arrivals", to.arrivals,
                 "Intervals between requests and think times: poisson (random, like many users) or even")
      ->check(CLI::IsMember({"poisson", "even"}))
      ->capture_default_str();
  app.add_option("--speed", to.speed, "Factor for the speed of the trace: the same requests in less time")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str()
      ->needs(trace);
  app.add_option("--scale", to.scale, "Factor for the rates of the trace")
      ->check(CLI::Range(0.001, 1000.0))
      ->capture_default_str()
      ->needs(trace);
  app.add_option("--think", to.think, "Average think time of a user between answer and next request, for example 1s")
      ->capture_default_str()
      ->needs(users);
  app.add_option("--timeout", to.timeout, "Time after which a due request is abandoned")->capture_default_str();
  app.add_option("--connections", to.connections, "Open loop: maximum number of connections")
      ->check(CLI::Range(1, 20'000))
      ->capture_default_str();
  app.add_option("--waiting", to.waiting,
                 "Maximum number of requests that wait for a connection; further ones fail as unsent")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--method", to.method, "HTTP method: GET, POST, ...")->capture_default_str();
  app.add_option("-H,--header", to.headers, "Header 'Name: value' for each request; can be repeated")
      ->allow_extra_args(false);
  app.add_option("--body", to.body, "File with the body of each request")->type_name("FILE");
  app.add_option("--seed", to.seed, "Seed of the random times of requests")->capture_default_str();
  app.add_option("-o,--output", to.output, "Output format: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return [arguments] { return run_http(*arguments); };
}

}  // namespace wattle::load
