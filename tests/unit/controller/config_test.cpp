#include "controller/config.hpp"

#include <doctest/doctest.h>

#include "tests/places.hpp"

using namespace wattle;
using namespace wattle::controller;

TEST_CASE("a full configuration is parsed") {
  const auto config = parse_config(R"(
mode: live
policy: model-greedy
key: k
allow_list: a
telemetry: {endpoint: "tcp://127.0.0.1:0"}
http: {port: 0}
reward: {preset: weighted, weights: {energy: 2, latency: 0.5}}
decide: {epsilon: 0.1, settle_window: 3s, stale_after: 4s}
learn: {warmup: 40, batch: 48, tau: 20s, checkpoint_every: 5s}
seed: 7
canary: {block: 12m}
store: {max_bytes: 4194304, keep_history: 48h}
)",
                                   "test");
  REQUIRE(config);
  CHECK(config->mode == Mode::live);
  CHECK(config->policy == "model-greedy");
  CHECK(config->decide.reward.weights.energy == 2);
  CHECK(config->decide.reward.horizon_s == 3600);
  CHECK(config->settle_window == std::chrono::seconds(3));
  CHECK(config->learn.settle_expiry == std::chrono::seconds(120));
  CHECK(config->learn.warmup == 40);
  CHECK(config->learn.batch == 48);
  CHECK(config->learn.tau_s == 20);
  CHECK(config->learn.seed == 7);
  CHECK(config->seed == 7);
  CHECK(config->blocks.washout == std::chrono::minutes(2));
  CHECK(config->store.history_keep == std::chrono::hours(48));
  CHECK(config->store.history_max_bytes() == 1 << 20);
}

TEST_CASE("a tariff has a price with its currency, CO2, or both, and each of its errors is reported") {
  const std::string keys = "key: k\nallow_list: a\n";
  const auto none = parse_config(keys, "test");
  REQUIRE(none);
  CHECK_FALSE(none->tariff.cost_of(3.6e6));
  CHECK_FALSE(none->tariff.co2_g_of(3.6e6));
  const auto both = parse_config(keys + "tariff: {price_per_kwh: 0.30, currency: EUR, co2_g_per_kwh: 380}\n", "test");
  if (!both) FAIL(both.error().message());
  CHECK(both->tariff.cost_of(7.2e6) == doctest::Approx(0.60));
  CHECK(both->tariff.co2_g_of(1.8e6) == doctest::Approx(190));
  CHECK_FALSE(both->tariff.cost_of(std::nullopt));
  CHECK(both->tariff.currency == "EUR");
  const auto co2 = parse_config(keys + "tariff: {co2_g_per_kwh: 0}\n", "test");
  REQUIRE(co2);
  CHECK(co2->tariff.co2_g_of(3.6e6) == 0);
  CHECK_FALSE(co2->tariff.cost_of(3.6e6));
  for (const std::string wrong : {"{price_per_kwh: 0.3}", "{currency: EUR}", "{price_per_kwh: -1, currency: EUR}",
                                  "{price_per_kwh: 0.3, currency: eur}", "{price_per_kwh: 0.3, currency: EURO}",
                                  "{price_per_kwh: 0.3, currency: \"\"}", "{co2_g_per_kwh: -1}", "{co2_g_per_kwh: 1e9}",
                                  "{price_per_kwh: cheap, currency: EUR}", "{price: 1}"}) {
    const auto refused = parse_config(keys + "tariff: " + wrong + "\n", "test");
    CHECK_MESSAGE(!refused, wrong);
    if (!refused) CHECK(refused.error().message().find("tariff") != std::string::npos);
  }
}

TEST_CASE("the wait for an outcome is longer than any settle window") {
  const auto config = parse_config("{key: k, allow_list: a, decide: {settle_window: 5m}}", "test");
  REQUIRE(config);
  CHECK(config->learn.settle_expiry == std::chrono::minutes(6));
}

TEST_CASE("the start cap is parsed") {
  const std::string keys = "key: k\nallow_list: a\n";
  const auto config = parse_config(keys + "decide: {start_cap: {per_core: 0.5, least: 3, window: 20s}}\n", "test");
  if (!config) FAIL(config.error().message());
  CHECK(config->decide.mask.start_cap.of(64) == 32);
  CHECK(config->decide.mask.start_cap.of(2) == 3);
  CHECK(config->decide.mask.start_cap.window == std::chrono::seconds(20));
  CHECK_FALSE(parse_config(keys + "decide: {start_cap: {least: 0}}\n", "test"));
  CHECK_FALSE(parse_config(keys + "decide: {start_cap: {per_cores: 1}}\n", "test"));
}

TEST_CASE("measured blocks decide which candidate serves, unless the configuration says otherwise") {
  const std::string keys = "key: k\nallow_list: a\n";
  CHECK(parse_config(keys, "test")->measure_candidates);
  CHECK_FALSE(parse_config(keys + "decide: {measure_candidates: false}\n", "test")->measure_candidates);
}

TEST_CASE("a waiting limit is parsed; without one, or with 0, the limit is learned") {
  const std::string keys = "key: /k\nallow_list: /a\n";
  CHECK_FALSE(parse_config(keys, "test")->limits.cpu_wait.has_value());
  CHECK_FALSE(parse_config(keys + "limits: {cpu_wait: 0}\n", "test")->limits.cpu_wait.has_value());
  const auto config = parse_config(keys + "limits: {cpu_wait: 0.02}\n", "test");
  REQUIRE(config);
  CHECK(configured_spec(*config).limits.cpu_wait == std::optional(0.02));
  for (const std::string wrong : {"cpu_wait: 2", "cpu_wait: -1", "cpu_wait: much", "gpu_wait: 0.1"})
    CHECK_FALSE(parse_config(keys + "limits: {" + wrong + "}\n", "test"));
}

TEST_CASE("a lateness limit is parsed in the same way, and an impossible share is reported with its key and range") {
  const std::string keys = "key: /k\nallow_list: /a\n";
  CHECK_FALSE(parse_config(keys + "limits: {late: 0}\n", "test")->limits.late.has_value());
  const auto config = parse_config(keys + "limits: {late: 0.02}\n", "test");
  REQUIRE(config);
  CHECK(configured_spec(*config).limits == placement::BudgetLimits{std::nullopt, 0.02});
  for (const std::string wrong : {"late: 2", "late: -0.1"}) {
    const auto refused = parse_config(keys + "limits: {" + wrong + "}\n", "test");
    REQUIRE_FALSE(refused);
    CAPTURE(refused.error().message());
    CHECK(refused.error().message().find("limits.late") != std::string::npos);
    CHECK(refused.error().message().find("0 to 1") != std::string::npos);
  }
}

TEST_CASE(
    "an expression is parsed, a wrong one is reported with its term; a table may be trained instead of the network") {
  const std::string keys = "key: k\nallow_list: a\n";
  const auto right = parse_config(keys + "reward: {preset: expression, expression: \"energy + 2 * latency\"}\n" +
                                      "decide: {epsilon: 0.2}\npolicy: tabular-q\n",
                                  "test");
  if (!right) FAIL(right.error().message());
  CHECK(right->decide.reward.formula.text() == "energy + 2 * latency");
  CHECK(right->learn.tabular);
  CHECK(right->learn.epsilon == 0.2);
  CHECK(right->learn.pretrained == "auto");
  CHECK(parse_config(keys + "learn: {pretrained: none}\n", "test")->learn.pretrained == "none");
  CHECK_FALSE(parse_config(keys + "learn: {pretrained: \"\"}\n", "test"));
  const auto wrong = parse_config(keys + "reward: {preset: expression, expression: energie}\n", "test");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message().find("'energie' is not a term") != std::string::npos);
  CHECK_FALSE(parse_config(keys + "reward: {preset: expression}\n", "test"));
  CHECK_FALSE(parse_config(keys, "test")->learn.tabular);
  const auto removed = parse_config(keys + "learn: {network: tabular, n_step: 3}\n", "test");
  REQUIRE_FALSE(removed);
  CHECK(removed.error().message().find("learn.network: unknown key") != std::string::npos);
}

TEST_CASE("all errors are reported at once, each with its key") {
  const auto config = parse_config(R"(
mode: sometimes
policy: clairvoyant
decide: {epsilon: 3, epsilom: 1}
learn: {warmup: 20001, batch: 0, tau: 0s}
)",
                                   "test");
  REQUIRE(!config);
  const std::string text = config.error().message();
  for (const char* key :
       {"mode", "clairvoyant", "epsilon", "epsilom", "warmup", "learn.batch", "learn.tau", "key", "allow_list"})
    CHECK_MESSAGE(text.find(key) != std::string::npos, key, " in ", text);
}

TEST_CASE("an HTTP address that other hosts reach needs TLS, a token or an explicit permission") {
  const std::string keys = "key: k\nallow_list: a\n";
  const auto open = parse_config(keys + "http: {address: 0.0.0.0}\n", "test");
  REQUIRE_FALSE(open);
  CHECK(open.error().message().find("http.address") != std::string::npos);
  const auto guarded = parse_config(keys + "http: {address: 0.0.0.0, token_file: /t}\n", "test");
  REQUIRE(guarded);
  CHECK(guarded->http_access.token_file == "/t");
  const auto secure = parse_config(keys + "http: {address: 0.0.0.0, tls: {certificate: /c, key: /k}}\n", "test");
  REQUIRE(secure);
  CHECK(secure->http_access.tls.key == "/k");
  CHECK(parse_config(keys + "http: {address: 0.0.0.0, insecure: true}\n", "test"));
}

TEST_CASE("the operator token differs from the read token and is never sent over the network in the clear") {
  const std::string keys = "key: k\nallow_list: a\n";
  CHECK(parse_config(keys, "test")->operator_token_file.empty());
  const auto local = parse_config(keys + "http: {token_file: /t, operator_token_file: /o}\n", "test");
  REQUIRE(local);
  CHECK(local->operator_token_file == "/o");
  CHECK(parse_config(keys + "http: {address: 0.0.0.0, tls: {certificate: /c, key: /k}, operator_token_file: /o}\n",
                     "test"));
  CHECK(parse_config(keys + "http: {address: 0.0.0.0, insecure: true, operator_token_file: /o}\n", "test"));
  for (const char* wrong :
       {"token_file: /t, operator_token_file: /t", "address: 0.0.0.0, token_file: /t, operator_token_file: /o"}) {
    CAPTURE(wrong);
    const auto refused = parse_config(keys + "http: {" + wrong + "}\n", "test");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("http.operator_token_file") != std::string::npos);
  }
}

TEST_CASE("enrolment needs TLS, except on loopback") {
  const std::string keys = "key: k\nallow_list: a\n";
  CHECK(parse_config(keys, "test")->enrol.tokens.empty());
  const auto reported =
      parse_config(keys + "enrol: {tokens: /t, address: 0.0.0.0, port: 7, tls: {certificate: /c, key: /k}}\n", "test");
  REQUIRE(reported);
  CHECK(reported->enrol.port == 7);
  CHECK(reported->enrol.tls.key == "/k");
  CHECK(parse_config(keys + "enrol: {tokens: /t}\n", "test"));
  CHECK_FALSE(reported->enrol.kubernetes);
  const auto reviewed = parse_config(keys + "enrol: {kubernetes: {accounts: [a/b, c/d]}}\n", "test");
  REQUIRE(reviewed);
  CHECK(reviewed->enrol.kubernetes);
  CHECK(reviewed->enrol.review.accounts == std::vector<std::string>{"a/b", "c/d"});
  CHECK(reviewed->enrol.reader.empty());
  CHECK(parse_config(keys + "enrol: {kubernetes: {reader: a/b}}\n", "test")->enrol.reader == "a/b");
  for (const std::string& enrol : std::vector<std::string>{
           "kubernetes: {audience: wattle}", "kubernetes: {reader: agent}", "kubernetes: {accounts: [agent]}",
           "tokens: /t, address: 0.0.0.0", "tokens: /t, tls: {certificate: /c}", "tokens: /t, tls: {key: /k}"}) {
    CAPTURE(enrol);
    const auto refused = parse_config(keys + "enrol: {" + enrol + "}\n", "test");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("enrol") != std::string::npos);
  }
}

TEST_CASE("the controller follows an API server if one is configured or if it runs in a cluster") {
  const std::string keys = "key: k\nallow_list: a\n";
  const auto none = parse_config(keys, "test");
  REQUIRE(none);
  KubeConfig outside = none->kube;
  CHECK(outside.use == KubeUse::automatic);
  const auto named = parse_config(keys + "kubernetes: {server: \"https://[::1]:6443\", ca: /c, token: /t}\n", "test");
  REQUIRE(named);
  const auto server = api_server(named->kube);
  REQUIRE(server);
  REQUIRE(*server);
  CHECK((*server)->origin.host == "::1");
  CHECK((*server)->origin.port == 6443);
  CHECK((*server)->origin.tls->ca_file == "/c");
  CHECK((*server)->token_file == "/t");
  KubeConfig off = named->kube;
  off.use = KubeUse::off;
  CHECK_FALSE(*api_server(off));
  for (const char* wrong : {"server: 10.96.0.1", "watch: maybe", "serve: https://a"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_config(keys + "kubernetes: {" + wrong + "}\n", "test"));
  }
}

TEST_CASE("blocks of the modelled saving last as long as configured, a minute by default") {
  const std::string keys = "{key: k, allow_list: a";
  CHECK(parse_config(keys + "}", "test")->modelled.block_s == 60);
  CHECK(parse_config(keys + ", shadow: {block: 30s}}", "test")->modelled.block_s == 30);
  const auto wrong = parse_config(keys + ", shadow: {block: 500ms}}", "test");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message().find("shadow.block") != std::string::npos);
}

TEST_CASE(
    "a Prometheus is queried if one is configured, with the configured queries; its token is not sent in the clear") {
  const auto parsed = [](const std::string& keys) {
    return parse_config("{key: k, allow_list: a, provisioning: {prometheus: {" + keys + "}}}", "test");
  };
  CHECK_FALSE(parsed("")->prometheus.enabled());
  const auto config =
      parsed("url: 'https://p:9090', rate_query: r, late_query: l, latency_query: q, target: 50ms, interval: 1m");
  REQUIRE_MESSAGE(config, config.error().message());
  CHECK(config->prometheus.enabled());
  CHECK(config->prometheus.target == std::chrono::milliseconds(50));
  CHECK(config->prometheus.interval == std::chrono::minutes(1));
  CHECK(parsed("url: 'http://127.0.0.1:9090', rate_query: r, token: /t"));
  const std::pair<std::string, std::string> wrong[] = {
      {"url: 'http://p'", "rate_query"},
      {"url: 'p:9090', rate_query: r", "is not a URL"},
      {"rate_query: r", "prometheus.url"},
      {"url: 'http://p', rate_query: r, latency_query: q", "target"},
      {"url: 'http://p', rate_query: r, token: /t", "token: would be sent unencrypted"},
      {"url: 'http://p', rate_query: r, interval: 1s", "interval"},
      {"url: 'http://p', rate_query: r, query: r", "query"}};
  for (const auto& [keys, named] : wrong) {
    const auto refused = parsed(keys);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find(named) != std::string::npos);
  }
}

TEST_CASE("replica suggestions need their option and a source of rates; the teacher learns by the configured reward") {
  const auto parsed = [](const std::string& keys) {
    return parse_config("{key: k, allow_list: a, provisioning: {" + keys + "}}", "test");
  };
  CHECK_FALSE(parsed("prometheus: {url: 'http://p', rate_query: r}")->suggest_replicas);
  CHECK(parsed("replicas: suggest, prometheus: {url: 'http://p', rate_query: r}")->suggest_replicas);
  const auto without_rates = parsed("replicas: suggest");
  REQUIRE_FALSE(without_rates);
  CHECK(without_rates.error().message().find("provisioning.prometheus") != std::string::npos);
  const auto blind = parsed("level: off, replicas: suggest, prometheus: {url: 'http://p', rate_query: r}");
  REQUIRE_FALSE(blind);
  CHECK(blind.error().message().find("provisioning.replicas: is suggest, but provisioning.level is off") !=
        std::string::npos);
  CHECK(parsed("")->teacher_reward == models::provision::TeacherReward::waste);
  CHECK(parsed("teacher_reward: drpc")->teacher_reward == models::provision::TeacherReward::drpc);
  CHECK_FALSE(parsed("teacher_reward: fame"));
}

TEST_CASE("endpoints that cannot be opened, or are one and the same, are reported with their keys") {
  const auto refused = parse_config(R"(
key: k
allow_list: a
telemetry: {endpoint: "tcp://*:7460"}
feed: {endpoint: "tcp://0.0.0.0:7460"}
ask: {endpoint: "ipc:///no/such/folder/ask"}
http: {address: localhost}
enrol: {tokens: t, port: 7460}
)",
                                    "test");
  REQUIRE_FALSE(refused);
  const std::string message = refused.error().message();
  CAPTURE(message);
  for (const char* part :
       {"feed.endpoint: 7460 is already used by telemetry.endpoint", "ask.endpoint: '/no/such/folder",
        "http.address: 'localhost' is not an IP address", "enrol.port: 7460 is already used by"})
    CHECK_MESSAGE(message.find(part) != std::string::npos, part);
  CHECK(parse_config("{key: k, allow_list: a, enrol: {port: 7460}}", "test"));  // enrolment is off
}
