#include "controller/config.hpp"

#include <algorithm>
#include <utility>

#include "common/listeners.hpp"
#include "common/program_config.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::controller {
namespace {

void read_time(config::Section& section, std::string_view key, Duration& out, double min_s, double max_s) {
  double value_s = seconds(out);
  section.read(key, value_s, {.min = min_s, .max = max_s, .unit = config::Unit::seconds});
  out = from_seconds(value_s);
}

void read_port(config::Section& section, std::uint16_t& out) {
  int port = out;
  section.read("port", port, {.min = 0, .max = 65535});
  out = static_cast<std::uint16_t>(port);
}

// A name that a parser of another folder knows; its error becomes a mistake about the key.
template <class T, class Parse>
void read_name(config::Section& section, std::string_view key, T& out, Parse parse, std::string_view standing) {
  std::string text(standing);
  section.read(key, text);
  if (!section.has(key)) return;
  const auto value = parse(text);
  if (value) {
    out = *value;
  } else {
    section.mistake(key, "'" + text + "' is unknown", value.error().fix);
  }
}

void read_reward(config::Section reward, placement::RewardConfig& out) {
  read_name(reward, "preset", out.preset, placement::parse_preset, to_string(out.preset));
  read_name(reward, "load", out.load, placement::parse_load_kind, to_string(out.load));
  std::string expression;
  reward.read("expression", expression);
  if (!expression.empty()) {
    auto formula = placement::Formula::compile(expression);
    if (formula) {
      out.formula = std::move(*formula);
    } else {
      reward.mistake("expression", formula.error().what, formula.error().fix);
    }
  }
  if (out.preset == placement::Preset::expression && expression.empty())
    reward.mistake("expression", "is missing", "preset expression needs a formula");
  config::Section weights = reward.section("weights");
  const config::Bounds bounds{.min = 0, .max = 100};
  weights.read("energy", out.weights.energy, bounds);
  weights.read("latency", out.weights.latency, bounds);
  weights.read("balance", out.weights.balance, bounds);
  weights.read("active_nodes", out.weights.active_nodes, bounds);
  weights.read("packing", out.weights.packing, bounds);
  weights.read("contention", out.weights.contention, bounds);
  weights.read("failure", out.weights.failure, bounds);
}

void read_start_cap(config::Section cap, StartCap& out) {
  cap.read("per_core", out.per_core, {.min = 0, .max = 1000});
  auto least = static_cast<std::int64_t>(out.least);
  cap.read("least", least, {.min = 1, .max = 10'000});
  out.least = static_cast<std::uint64_t>(least);
  read_time(cap, "window", out.window, 1, 600);
}

void read_owner_share(config::Section share, placement::OwnerShare& out) {
  share.read("node", out.node, {.min = 0.01, .max = 1});
  share.read("zone", out.zone, {.min = 0.01, .max = 1});
}

void read_decide(config::Section decide, ControllerConfig& out) {
  decide.read("epsilon", out.decide.epsilon, {.min = 0, .max = 1});
  decide.read("measure_candidates", out.measure_candidates);
  decide.read("stale_after", out.decide.mask.stale_after_s, {.min = 0.5, .max = 3600, .unit = config::Unit::seconds});
  read_start_cap(decide.section("start_cap"), out.decide.mask.start_cap);
  read_owner_share(decide.section("max_owner_share"), out.decide.mask.owner_share);
  decide.read("look_ahead", out.look_ahead, {.min = 0, .max = static_cast<double>(placement::kMaxAhead)});
  Duration window = kSettleWindow;
  read_time(decide, "settle_window", window, 0.2, 600);
  if (decide.has("settle_window")) out.settle_window = window;
}

void read_learn(config::Section learn, LearnConfig& out) {
  learn.read("enabled", out.enabled);
  learn.read("pretrained", out.pretrained);
  if (out.pretrained.empty()) learn.mistake("pretrained", "is empty", "use auto, none or a safetensors file");
  read_time(learn, "checkpoint_every", out.checkpoint_every, 1, 86'400);
  learn.read("warmup", out.warmup, {.min = 1, .max = kReplay});
  learn.read("batch", out.batch, {.min = 1, .max = 4096});
  if (!learn.has("batch")) out.batch = std::min(out.batch, out.warmup);
  learn.read("tau", out.tau_s, {.min = 0.1, .max = 1e6, .unit = config::Unit::seconds});
}

void read_limits(config::Section limits, placement::BudgetLimits& out) {
  double cpu_wait = 0, late = 0;
  limits.read("cpu_wait", cpu_wait, {.min = 0, .max = 1});
  limits.read("late", late, {.min = 0, .max = 1});
  if (cpu_wait > 0) out.cpu_wait = cpu_wait;
  if (late > 0) out.late = late;
}

void read_store(config::Section store, StoreConfig& out) {
  store.read("path", out.path);
  store.read("max_bytes", out.max_bytes, {.min = 1 << 20, .max = 1e12});
  read_time(store, "keep", out.keep, 1, 30 * 86'400);
  read_time(store, "keep_history", out.history_keep, 3600, 10 * 366 * 86'400.0);
}

void read_tariff(config::Section section, Tariff& out) {
  double price = 0, co2_g = 0;
  section.read("price_per_kwh", price, {.min = 0, .max = 100'000});
  section.read("currency", out.currency);
  section.read("co2_g_per_kwh", co2_g, {.min = 0, .max = 5000});
  if (section.has("price_per_kwh")) out.price_per_kwh = price;
  if (section.has("co2_g_per_kwh")) out.co2_g_per_kwh = co2_g;
  const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (section.has("currency") &&
      (out.currency.size() != 3 || !std::all_of(out.currency.begin(), out.currency.end(), capital)))
    section.mistake("currency", "'" + out.currency + "' is not a currency code", "three capital letters, as in EUR");
  if (out.price_per_kwh && out.currency.empty())
    section.mistake("currency", "is missing", "the currency of price_per_kwh, as in EUR");
  if (!out.price_per_kwh && !out.currency.empty())
    section.mistake("price_per_kwh", "is missing", "the price of a kWh in " + out.currency + ", or remove currency");
}

void read_canary(config::Section canary, SwitchbackSchedule& out) {
  read_time(canary, "block", out.length, 0.1, 86'400);
  out.washout = out.length / 6;  // as in the default of 5 of 30 minutes
}

// Enrolment receives tokens: TLS is required, except on a loopback address.
void read_enrol(config::Section enrol, EnrolConfig& out) {
  enrol.read("tokens", out.tokens);
  enrol.read("address", out.address);
  read_port(enrol, out.port);
  if (enrol.has("kubernetes")) {
    config::Section review = enrol.section("kubernetes");
    out.kubernetes = true;
    review.read("accounts", out.review.accounts);
    review.read("reader", out.reader);
    const auto check = [&review](const char* key, const std::string& account) {
      if (std::count(account.begin(), account.end(), '/') != 1)
        review.mistake(key, "'" + account + "' is not a service account", "for example wattle-agent/wattle-agent");
    };
    for (const std::string& account : out.review.accounts) check("accounts", account);
    if (!out.reader.empty()) check("reader", out.reader);
  }
  config::Section tls = enrol.section("tls");
  tls.read("certificate", out.tls.certificate);
  tls.read("key", out.tls.key);
  if (out.tls.certificate.empty() != out.tls.key.empty())
    tls.mistake(out.tls.key.empty() ? "key" : "certificate", "is missing", "set both PEM files");
  if (out.enabled() && out.tls.certificate.empty() && !http::is_loopback(out.address))
    enrol.mistake("tls", "is missing: tokens would be sent unencrypted",
                  "set certificate and key, or use a loopback address");
}

void read_kube(config::Section section, KubeConfig& out, std::vector<std::string>& schedulers) {
  config::read_enum(section, "watch", out.use, {"auto", "on", "off"});
  section.read("server", out.server);
  section.read("ca", out.ca_file);
  section.read("token", out.token_file);
  section.read("schedulers", schedulers);
  if (out.server.empty()) return;
  const auto url = kube::parse_server(out.server);
  if (!url) section.mistake("server", "'" + out.server + "' " + url.error().what, url.error().fix);
}

void read_prometheus(config::Section section, PrometheusConfig& out) {
  constexpr std::size_t kMostQueryBytes = 16 << 10;
  section.read("url", out.url);
  section.read("ca", out.ca_file);
  section.read("token", out.token_file);
  section.read("rate_query", out.rate_query);
  section.read("late_query", out.late_query);
  section.read("latency_query", out.latency_query);
  double target_s = 0;
  section.read("target", target_s, {.min = 0, .max = 3600, .unit = config::Unit::seconds});
  out.target = from_seconds(target_s);
  read_time(section, "interval", out.interval, 5, 300);
  for (const auto& [key, text] : {std::pair("rate_query", &out.rate_query), std::pair("late_query", &out.late_query),
                                  std::pair("latency_query", &out.latency_query)}) {
    if (text->size() > kMostQueryBytes) section.mistake(key, "is longer than 16 KiB", "use a recording rule");
    if (out.url.empty() && !text->empty()) section.mistake("url", "is missing", "set the URL of Prometheus");
  }
  if (!out.latency_query.empty() && target_s <= 0)
    section.mistake("target", "is missing", "set the limit for 99 of 100 requests, for example 100ms");
  if (out.url.empty()) return;
  if (out.rate_query.empty())
    section.mistake("rate_query", "is missing", "for example sum by (node, workload) (rate(http_requests_total[1m]))");
  const auto url = prometheus_url(out);
  if (!url) return section.mistake("url", "'" + out.url + "' " + url.error().what, url.error().fix);
  if (!out.token_file.empty() && !url->origin.tls && !http::is_loopback(url->origin.host))
    section.mistake("token", "would be sent unencrypted", "use an https:// URL");
}

// Viewers and operators have different tokens; the operators' token never crosses a network unencrypted.
void read_operator_token(config::Section& section, ControllerConfig& out) {
  section.read("operator_token_file", out.operator_token_file);
  if (out.operator_token_file.empty()) return;
  if (out.operator_token_file == out.http_access.token_file)
    section.mistake("operator_token_file", "is the same file as token_file: readers could make changes",
                    "use a file with another token");
  if (http::is_loopback(out.http_address) || !out.http_access.tls.certificate.empty() || out.http_access.insecure)
    return;
  section.mistake("operator_token_file", "the token would be sent unencrypted",
                  "use 127.0.0.1, set tls, or set insecure: true if the network restricts access");
}

Result<ControllerConfig> read(config::Document document) {
  ControllerConfig out;
  config::Section root = document.root();
  read_name(root, "mode", out.mode, parse_mode, out.mode.text());
  read_canary(root.section("canary"), out.blocks);
  root.section("shadow").read("block", out.modelled.block_s, {.min = 1, .max = 86'400, .unit = config::Unit::seconds});
  out.measure_candidates = true;
  placement::PolicyInfo policy;
  read_name(root, "policy", policy, placement::parse_policy, out.policy);
  if (!policy.name.empty()) out.policy = policy.name;
  root.read("data_dir", out.data_dir);
  root.read("seed", out.seed, {.min = 0});
  root.read("key", out.key_file, true);
  root.read("allow_list", out.allow_file, true);
  Listeners listeners;
  const auto read_endpoint = [&](const char* name, std::string& endpoint) {
    config::Section section = root.section(name);
    section.read("endpoint", endpoint);
    listeners.add_endpoint(section, std::string(name) + ".endpoint", "endpoint", endpoint);
  };
  read_endpoint("telemetry", out.telemetry_endpoint);
  read_endpoint("feed", out.feed_endpoint);
  read_endpoint("ask", out.ask_endpoint);
  config::Section web = root.section("http");
  web.read("address", out.http_address);
  read_port(web, out.http_port);
  listeners.add_http(web, "http.port", out.http_address, out.http_port);
  http::read_access(web, out.http_address, http::Callers::with_token, out.http_access);
  read_operator_token(web, out);
  read_reward(root.section("reward"), out.decide.reward);
  read_limits(root.section("limits"), out.limits);
  read_decide(root.section("decide"), out);
  read_learn(root.section("learn"), out.learn);
  read_store(root.section("store"), out.store);
  read_tariff(root.section("tariff"), out.tariff);
  config::Section enrol = root.section("enrol");
  read_enrol(enrol, out.enrol);
  if (out.enrol.enabled()) listeners.add_http(enrol, "enrol.port", out.enrol.address, out.enrol.port);
  read_kube(root.section("kubernetes"), out.kube, out.schedulers);
  config::Section provisioning = root.section("provisioning");
  config::read_enum(provisioning, "level", out.provision, {"off", "suggest", "requests"});
  config::read_enum(provisioning, "teacher", out.teacher, {"off", "shadow", "canary", "live"});
  config::read_enum(provisioning, "teacher_reward", out.teacher_reward, {"waste", "drpc"});
  read_prometheus(provisioning.section("prometheus"), out.prometheus);
  config::read_enum(provisioning, "replicas", out.suggest_replicas, {"off", "suggest"});
  if (out.suggest_replicas && !out.prometheus.enabled())
    provisioning.mistake("replicas", "is suggest, but no source of request rates is configured",
                         "configure provisioning.prometheus");
  if (out.suggest_replicas && out.provision == ProvisionLevel::off)
    provisioning.mistake("replicas", "is suggest, but provisioning.level is off",
                         "set level to suggest or requests, or set replicas to off");
  power::read_sleep(root.section("sleep"), out.sleep);
  if (out.sleep.mode == placement::sleep::SleepMode::automatic && out.store.path.empty())
    root.section("sleep").mistake("mode", "is auto, but no store keeps the state of nodes over a restart",
                                  "set store.path");
  config::read_log_level(root, out.log_level);
  WATTLE_CHECK(document.finish());
  out.learn.epsilon = out.decide.epsilon;
  out.learn.seed = out.seed;
  out.learn.tabular = out.policy == "tabular-q";
  // The learner must not give up on outcomes while their settle window is open.
  out.learn.settle_expiry =
      std::max(out.learn.settle_expiry, out.settle_window.value_or(kSettleWindow) + std::chrono::minutes(1));
  return out;
}

}  // namespace

Duration settle_window(const ControllerConfig& config, placement::Preset preset) {
  if (config.settle_window) return *config.settle_window;
  const auto asked_s = placement::times_of(preset).settle_s;
  return asked_s ? from_seconds(*asked_s) : kSettleWindow;
}

RolloutSpec configured_spec(const ControllerConfig& config) {
  RolloutSpec spec{config.mode, config.policy, config.decide.reward, config.blocks, config.limits};
  spec.schedule.seed = static_cast<std::uint64_t>(config.seed);
  spec.schedule.share = config.mode.share;
  return spec;
}

Result<ControllerConfig> load_config(const std::string& path) {
  return config::read_with(read, config::Document::load(path));
}

Result<ControllerConfig> parse_config(const std::string& text, const std::string& name) {
  return config::read_with(read, config::Document::parse(text, name));
}

// Sections whose keys are read only if the section is present.
std::vector<config::Key> config_keys() { return config::keys_of(read, "{enrol: {kubernetes: {}}}"); }

}  // namespace wattle::controller
