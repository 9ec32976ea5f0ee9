// Probes against real listeners: each kind of failure is distinguished and counted once.
#include <doctest/doctest.h>

#include "probe_peers.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace wattle::agent::test;
using namespace std::chrono_literals;

TEST_CASE("each kind of failure is counted as its own kind, once per probe") {
  const Listener good("HTTP/1.1 204 No Content\r\n\r\n"), silent(""), garbage("SSH-2.0-x\r\n");
  const Listener broken("HTTP/1.1 500 Oops\r\n\r\n"), missing("HTTP/1.1 404 Not Found\r\n\r\n");
  const Listener cut("HTTP/1.1 20"), long_one("HTTP/1.1 200 OK\r\n\r\n" + std::string(1 << 20, 'x'));
  const ClosedPort closed;
  using enum ProbeKind;
  struct Case {
    ProbeTarget target;
    ProbeEnd end;
  };
  const std::vector<Case> cases = {
      {target("tcp", tcp, "127.0.0.1", good.port), ProbeEnd::answered},
      {target("tcp-silent", tcp, "127.0.0.1", silent.port), ProbeEnd::answered},  // the kernel answers
      {target("tcp-closed", tcp, "127.0.0.1", closed.port), ProbeEnd::refused},
      {target("http", http, "127.0.0.1", good.port), ProbeEnd::answered},
      {target("http-by-name", http, "localhost", good.port), ProbeEnd::answered},
      {target("http-404", http, "127.0.0.1", missing.port), ProbeEnd::answered},
      {target("http-long", http, "127.0.0.1", long_one.port), ProbeEnd::answered},
      {target("http-closed", http, "127.0.0.1", closed.port), ProbeEnd::refused},
      {target("http-silent", http, "127.0.0.1", silent.port, 100ms), ProbeEnd::timeout},
      {target("http-garbage", http, "127.0.0.1", garbage.port), ProbeEnd::bad_answer},
      {target("http-500", http, "127.0.0.1", broken.port), ProbeEnd::bad_answer},
      {target("http-cut", http, "127.0.0.1", cut.port), ProbeEnd::bad_answer},
      {target("nameless", tcp, "host.invalid", 80, 500ms), ProbeEnd::dns},
  };
  std::vector<ProbeTarget> targets;
  for (const auto& one : cases) targets.push_back(one.target);
  Prober prober = prober_of(targets);
  for (int i = 0; i < 3; ++i) prober.round();
  const auto values = prober.values();
  const auto counts = prober.counts();
  REQUIRE(values.size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i].target.name);
    ProbeEnds expected{};
    expected[static_cast<std::size_t>(cases[i].end)] = 3;
    CHECK(counts[i].by_end == expected);
    const auto& v = values[i];
    CHECK(v.kind == cases[i].target.kind);
    CHECK(v.sent == 3);
    CHECK(v.p50_ms.has_value() == (cases[i].end == ProbeEnd::answered));
    CHECK(v.loss_ratio == (cases[i].end == ProbeEnd::answered ? 0 : 1));
    CHECK(v.dns_failures + v.refusals + v.timeouts + v.unreachables + v.bad_answers ==
          (cases[i].end == ProbeEnd::answered ? 0 : 3));
  }
}

TEST_CASE("the median of a slow HTTP target is at least its delay") {
  const Listener slow("HTTP/1.1 200 OK\r\n\r\n", 40ms);
  Prober prober = prober_of({target("slow", ProbeKind::http, "127.0.0.1", slow.port)});
  for (int i = 0; i < 5; ++i) prober.round();
  const auto values = prober.values();
  REQUIRE(values[0].p50_ms.has_value());
  CHECK(*values[0].p50_ms >= 40);
  CHECK(*values[0].p95_ms >= *values[0].p50_ms);
  CHECK(values[0].loss_ratio == 0);
}

TEST_CASE("a hanging target holds one probe, and the others continue") {
  const Listener hanging(""), quick("HTTP/1.1 200 OK\r\n\r\n");
  Prober prober = prober_of({target("hanging", ProbeKind::http, "127.0.0.1", hanging.port, 30s),
                             target("quick", ProbeKind::http, "127.0.0.1", quick.port, 250ms)});
  prober.start();
  CHECK(eventually([&] { return count(prober, 1, ProbeEnd::answered) >= 4; }));
  const auto hung = prober.counts()[0].by_end;
  CHECK(hung == ProbeEnds{});  // in flight: neither answered nor lost
}

TEST_CASE("one round probes each of 64 targets once") {
  const Listener listener("HTTP/1.1 200 OK\r\n\r\n");
  std::vector<ProbeTarget> targets;
  for (std::size_t i = 0; i < kMaxProbeTargets + 1; ++i)
    targets.push_back(target("t" + std::to_string(i), ProbeKind::http, "127.0.0.1", listener.port, 30s));
  Prober prober = prober_of(targets);
  prober.round();
  const auto values = prober.values();
  REQUIRE(values.size() == kMaxProbeTargets);  // the configuration refuses more
  for (const auto& one : values) {
    CHECK(one.sent == 1);
    CHECK(one.loss_ratio == 0);
  }
}
