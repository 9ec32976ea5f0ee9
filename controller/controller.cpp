#include "controller/controller.hpp"

#include <filesystem>

#include "common/dir.hpp"
#include "common/host_name.hpp"
#include "common/json/value.hpp"
#include "common/open_metrics.hpp"
#include "common/program_metrics.hpp"
#include "controller/descriptors.hpp"
#include "controller/enrol/combined_reviewer.hpp"
#include "controller/power/kube_marks.hpp"
#include "controller/rollout/monitor_state.hpp"
#include "controller/store/traces.hpp"
#include "controller/trainer/initial_network.hpp"
#include "controller/trainer/make_network.hpp"
#include "controller/web/known_arguments.hpp"
#include "controller/web/metrics.hpp"
#include "controller/web/page.hpp"
#include "controller/web/readiness.hpp"
#include "controller/web/sleep_post.hpp"
#include "controller/web/store_documents.hpp"

namespace wattle::controller {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kHttpPatience{2000}, kChangePatience{10'000};  // a change is on disk then
constexpr Duration kHangs = std::chrono::seconds(5);  // a loop without a turn for this long counts as hung
constexpr std::size_t kTasks = 64;
constexpr std::size_t kMaxClusterModelBytes = std::size_t{256} << 20;
constexpr std::string_view kApi = "/api/v1/";

http::Response failed(const Error& error) {
  int status = error.code == Errc::not_found ? 404 : 503;
  if (error.code == Errc::malformed || error.code == Errc::out_of_range) status = 400;
  return {status, "application/json", SortedJson{{"error", error.message()}}.dump()};
}

http::Response found(const Result<std::string>& body) {
  return body ? http::Response{200, "application/json", *body, {{"Cache-Control", "no-store"}}} : failed(body.error());
}

}  // namespace

Result<std::unique_ptr<Controller>> Controller::start(const ControllerConfig& config, const Clock& clock,
                                                      const Log& log, ServiceNotify* notify) {
  std::unique_ptr<Controller> controller(new Controller(config, clock.mono()));
  WATTLE_CHECK(controller->start_parts(clock, log, notify));
  return controller;
}

Status Controller::start_parts(const Clock& clock, const Log& log, ServiceNotify* notify) {
  WATTLE_TRY(const transport::KeyPair key, transport::KeyPair::load(config_.key_file));
  WATTLE_TRY(auto looked, allow_.look());
  transport::AllowList allow = std::move(looked).value_or(transport::AllowList());
  if (allow.size() == 0)
    log.warn("allow.empty", "the allow list is empty, so no client can connect",
             {{"file", config_.allow_file},
              {"fix", "allow keys with wattle keys allow; if the list had keys, check the disk"}});
  warn_of_few_descriptors(allow, config_.descriptor_limit, log);
  context_.serve(std::move(allow), log);
  WATTLE_TRY(tasks_, TaskQueue::open_(kTasks));
  WATTLE_CHECK(lock_state(log));
  WATTLE_CHECK(start_rollout(clock, log));
  WATTLE_CHECK(start_learning(clock, log));
  WATTLE_CHECK(start_margins(clock, log));
  WATTLE_CHECK(start_store(clock, log));
  placement::ClusterModel cluster_model = start_cluster_model(log);
  WATTLE_CHECK(start_watch(clock, log));
  std::shared_ptr<power::NodeMarks> marks;
  if (api_) marks = std::make_shared<power::KubeMarks>(*api_, host_name(), clock, log);
  sleep_ = std::make_unique<power::SleepControl>(power::SleepControl::Around{
      config_.sleep, *store_, *rollout_, clock, log, host_name(), api_, config_.decide.mask.stale_after_s, nullptr,
      std::move(marks), [this] { return !watch_.on() || watch_.health().pods.synced; }});
  provisioning_ = std::make_unique<Provisioning>(config_, *store_, *traffic_, watch_, margin_learner_.get(), clock, log,
                                                 [this](const auto&... entry) { rollout_->audit(entry...); });
  WATTLE_TRY(loop_,
             Loop::bind({config_, clock, log, context_, allow_, networks_, *learning_, *store_, *rollout_, watch_,
                         *sleep_, *live_, *http_refusals_, enrol_counts_, *enrol_refusals_, mode_reason_},
                        *provisioning_, *tasks_, *saver_, std::move(cluster_model), key));
  loop_->recall_history();
  endpoints_ = loop_->endpoints();
  WATTLE_CHECK(start_enrolment(key.public_key, clock, log));
  WATTLE_CHECK(start_http(clock, log));
  thread_ = std::thread([this, notify] {
    loop_->run(stop_, [this, notify](MonoTime now) {
      pulse_.beat(now);
      if (notify != nullptr) notify->alive(now);
    });
  });
  return {};
}

Status Controller::start_learning(const Clock& clock, const Log& log) {
  if (config_.learn.enabled) {  // for any policy, because operators may change it
    const BeginNetwork begin = [this](const placement::RewardConfig& reward) {
      LearnConfig learn = config_.learn;
      if (reward.preset != configured_preset_ && learn.pretrained != "none") learn.pretrained = "auto";
      return begin_network(learn, reward, config_.models_dir);
    };
    auto network = begin(config_.decide.reward);
    if (network) {
      WATTLE_TRY(auto trainer,
                 Trainer::start(config_.learn, config_.decide.reward, config_.data_dir, std::move(network->trainer),
                                networks_, clock, log, network->first.origin(), begin));
      report_initial_network(network->first, trainer->models().serving_from, trainer->figures().resumed, *rollout_,
                             log);
      learning_ = std::move(trainer);
      return {};
    }
    if (network.error().code != Errc::unsupported) return forward_error(network);
    log.warn("learning.disabled", "learning is disabled", {{"error", network.error()}});
    mode_reason_ = "learning is off: " + network.error().what;
    return {};
  }
  mode_reason_ = "learn.enabled is false";
  return {};
}

// On a disk that cannot be written, learned margins are lost when the process ends, like all other state.
Status Controller::start_margins(const Clock& clock, const Log& log) {
  WATTLE_TRY(traffic_, PrometheusRates::start(config_.prometheus, clock, log));
  if (!config_.learn.enabled || config_.teacher == TeacherMode::off) return {};
  const auto seed = static_cast<std::uint64_t>(config_.learn.seed);
  MarginLearnerOptions options{.seed = seed, .reward = config_.teacher_reward};
  options.student.seed = seed;
  auto started = MarginLearner::start(
      options, config_.data_dir, [seed] { return make_provisioning_network(seed); }, clock, log);
  if (started)
    margin_learner_ = std::move(*started);
  else
    log.error("margins.disabled", "the provisioning teacher is disabled", {{"error", started.error()}});
  return {};
}

// A folder that cannot be written contains nothing that a restore could replace.
Status Controller::lock_state(const Log& log) {
  Status made = make_dirs(config_.data_dir, 0700);
  auto lock = made ? StateLock::take(config_.data_dir) : Result<StateLock>(forward_error(made));
  if (!lock && lock.error().code == Errc::conflict) return forward_error(lock);
  if (!lock) log.warn("state.lock_failed", "the state directory cannot be locked", {{"error", lock.error()}});
  if (lock) lock_.emplace(std::move(*lock));
  return {};
}

// Changes made at run time are in force from the start. A damaged file is moved aside. An order to stop may be lost if
// that happens, if the file is missing or empty although other files show an earlier start, or if it cannot be read. In
// these cases no advice acts. On a disk that cannot be written, changes last as long as the process.
Status Controller::start_rollout(const Clock& clock, const Log& log) {
  const std::string path = config_.data_dir + "/control.db";
  const MonitorOptions monitors{{}, config_.learn.max_abs_residual};
  ran_before_ = reported_of(traces_of_before(config_.data_dir, ""));
  std::string lost = reported_of(traces_of_before(config_.data_dir, config_.store.path));
  if (!lost.empty()) lost = path + (is_emptied(path) ? " is empty" : " contains no change") + ", but " + lost;
  const auto open = [&](const std::string& file) {
    return RolloutManager::open_(configured_spec(config_), file, monitors, clock, log, lost);
  };
  Status made = make_dirs(config_.data_dir, 0700);
  auto rollout = made ? open(path) : Result<RolloutManager>(forward_error(made));
  if (!rollout && rollout.error().code == Errc::malformed) {
    const std::string aside = path + ".damaged-" + std::to_string(to_ns(clock.wall()) / 1'000'000'000);
    lost = rollout.error().message();
    log.error("policy.file_damaged", "the control file is damaged and was moved aside",
              {{"error", rollout.error()}, {"moved_to", aside}});
    for (const char* suffix : {"", "-wal"}) std::rename((path + suffix).c_str(), (aside + suffix).c_str());
    rollout = open(path);
  }
  if (!rollout) {
    const Errc code = rollout.error().code;
    if (code == Errc::conflict || code == Errc::unsupported) return forward_error(rollout);
    log.error("policy.not_persistent", "changes of mode, policy and reward will be lost at a restart",
              {{"error", rollout.error()}});
    std::error_code ignored;
    if (lost.empty() && std::filesystem::exists(path, ignored)) lost = rollout.error().message();
    rollout = open("");
    if (!rollout) return forward_error(rollout);
  }
  rollout_.emplace(std::move(*rollout));
  const RolloutSpec& spec = rollout_->spec();
  configured_preset_ = config_.decide.reward.preset;
  config_.mode = spec.mode;
  config_.policy = spec.policy;
  config_.decide.reward = spec.reward;
  return {};
}

Status Controller::start_store(const Clock& clock, const Log& log) {
  const StoreConfig& config = config_.store;
  if (config.path.empty()) {
    log.warn("store.disabled", "no store is configured, so acknowledgements and energy sums will be lost at a restart",
             {{"fix", "set store.path to a file on a local disk"}});
    store_ = Store::none(clock, log);
    return {};
  }
  if (std::error_code ignored; !ran_before_.empty() && !std::filesystem::exists(config.path, ignored))
    log.warn("store.missing", "the store file is missing, so acknowledgements and energy sums start from zero",
             {{"store", config.path}, {"why", ran_before_}});
  StoreOptions options;
  options.file.path = config.path;
  options.file.max_bytes = static_cast<std::uint64_t>(config.max_bytes);
  options.file.keep_s = std::chrono::duration_cast<std::chrono::seconds>(config.keep).count();
  const auto history_s = std::chrono::duration_cast<std::chrono::seconds>(config.history_keep).count();
  options.file.decisions = {history_s, static_cast<std::uint64_t>(config.history_max_bytes())};
  options.file.usage.keep_s = history_s;
  options.file.usage.max_bytes = static_cast<std::uint64_t>(config.history_max_bytes());
  options.decisions_found = static_cast<std::size_t>(config_.decision_ring);
  options.pod_namespaces_found = kube::kFormerUids;
  WATTLE_TRY(store_, Store::start(options, clock, log));
  return {};
}

// An unusable file is logged and kept until the next write; the cluster model then starts from scratch.
placement::ClusterModel Controller::start_cluster_model(const Log& log) {
  placement::ClusterModelOptions options;
  options.stale_after_s = config_.decide.mask.stale_after_s;
  placement::ClusterModel cluster_model(options);
  Status made = make_dirs(config_.data_dir, 0700);
  const auto dir = Dir::open_(config_.data_dir);
  saver_ = std::make_unique<BackgroundWriter>(log, made && dir);
  if (!made || !dir) {
    log.warn("cluster_model.not_persistent", "the cluster model will be lost at a restart",
             {{"error", made ? dir.error() : made.error()}});
    return cluster_model;
  }
  const auto file = dir->open_file(std::string(kClusterModelFile));
  if (!file) {
    if (file.error().code != Errc::not_found)
      log.error("cluster_model.unreadable", "the cluster model cannot be read", {{"error", file.error()}});
    return cluster_model;
  }
  const auto bytes = file->read_all(kMaxClusterModelBytes);
  if (!bytes) {
    log.error("cluster_model.unreadable", "the cluster model cannot be read", {{"error", bytes.error()}});
  } else if (const Status restored = cluster_model.restore(*bytes); !restored) {
    log.error("cluster_model.unusable", "the saved cluster model is not usable and is learned from scratch",
              {{"path", config_.data_dir + "/" + std::string(kClusterModelFile)}, {"error", restored.error()}});
  } else {
    log.info("cluster_model.restored", "the cluster model has been restored",
             {{"applications", static_cast<std::uint64_t>(cluster_model.demand().apps())}});
  }
  return cluster_model;
}

Status Controller::start_watch(const Clock& clock, const Log& log) {
  WATTLE_TRY(api_, api_server(config_.kube));
  if (!api_) return {};
  log.info("api_server.followed", "the controller follows nodes and pods of the API server",
           {{"server", api_->origin.url()}});
  watch_.follow(*api_, static_cast<std::uint64_t>(config_.seed), log);
  if (config_.suggest_replicas) watch_.follow_autoscalers(*api_, clock, log);
  return {};
}

// The store's thread builds the document while this worker waits; the loop is not involved.
http::Response Controller::of_store(const std::string& what, const std::map<std::string, std::string>& arguments,
                                    WallTime now) {
  auto asked = ask_store(*store_, what, arguments, now, config_.tariff);
  if (!asked) return failed(asked.error());
  if (asked->wait_for(kHttpPatience) != std::future_status::ready)
    return failed({Errc::timeout, what, "the store did not answer in time", "see wattle doctor"});
  return found(asked->get());
}

// Lets the page make changes in the same way as the command line, on the loop's thread.
Status Controller::let_page_change(PageParts& page) {
  WATTLE_TRY(page.operators, load_operators(config_.operator_token_file, page.token));
  if (!page.operators) return {};
  page.change = [this](const Arguments& arguments, const std::string& who) {
    const auto work = [this, arguments, who]() -> Document {
      auto changed = loop_->guardrails().order("policy-set", arguments, who);
      return changed ? loop_->document("policy", {}) : ready(std::move(changed));
    };
    return tasks_->call(work, kChangePatience);
  };
  return {};
}

Status Controller::start_http(const Clock& clock, const Log& log) {
  const auto ask_loop = [this](TaskQueue::Work work) { return tasks_->call(std::move(work), kHttpPatience); };
  http::Routes routes;
  // Uses the loop's pulse, because its task queue may be full although the loop runs.
  routes["GET /livez"] = [this, &clock](const http::Request&) -> http::Response {
    const Duration age = pulse_.age(clock.mono());
    if (age <= kHangs) return {200, "text/plain", "ok\n"};
    return {503, "text/plain",
            "the main loop has been stuck for " + std::to_string(age / std::chrono::seconds(1)) + " s\n"};
  };
  routes["GET /readyz"] = [this](const http::Request&) -> http::Response {
    auto is_ready = std::make_shared<bool>(false);
    const auto look = [this, is_ready]() -> Document {
      Readiness found = readiness(loop_->parts());
      *is_ready = found.ready;
      return ready(Result<std::string>(std::move(found.text)));
    };
    const auto text = tasks_->call(look, kHttpPatience, TaskQueue::Kind::probe);
    return text ? http::Response{*is_ready ? 200 : 503, "text/plain", *text} : failed(text.error());
  };
  routes["GET /metrics"] = [this, ask_loop](const http::Request& request) -> http::Response {
    const auto text = ask_loop([this] { return metrics_text(loop_->parts()); });
    if (!text) return failed(text.error());
    MetricsPage page = metrics_page(*text + program_metrics("controller"), request.headers);
    return {200, std::move(page.content_type), std::move(page.body)};
  };
  routes["GET " + std::string(kApi)] = [this, ask_loop, &clock](const http::Request& request) -> http::Response {
    const std::string what = request.path.substr(kApi.size());
    if (const Status known = check_query(what, request); !known) return failed(known.error());
    if (what.empty()) return found(index_text(routes_));
    if (is_of_store(what, request.query)) return of_store(what, request.query, clock.wall());
    return found(ask_loop([this, what, arguments = request.query] { return loop_->document(what, arguments); }));
  };
  // `wattle provision set --follow` reports what it has done with its orders.
  routes["POST " + std::string(kApi) + "provision"] = {
      [this, ask_loop](const http::Request& request) -> http::Response {
        if (const Status known = check_query(kNoQuery, request); !known) return failed(known.error());
        return found(ask_loop([this, body = request.body]() -> Document {
          Status taken = loop_->parts().sizing.report(body);
          return ready(taken ? Result<std::string>("{}") : Result<std::string>(forward_error(taken)));
        }));
      },
      kMostSizingReportBytes};
  http::ServerOptions options;
  PageParts page{std::nullopt, !config_.http_access.tls.certificate.empty(), live_, clock};
  if (!config_.http_access.token_file.empty()) {
    WATTLE_TRY(page.token, http::Token::load(config_.http_access.token_file));
  }
  WATTLE_CHECK(let_page_change(page));
  add_sleep_post(routes, options.open_paths, page.operators, [this](const Arguments& given, const std::string& who) {
    const auto work = [this, given, who] { return ready(loop_->parts().sleep.order(given.at("order"), given, who)); };
    return tasks_->call(work, kChangePatience);
  });
  add_page(routes, options.open_paths, std::move(page));
  for (const auto& [route, handler] : routes) routes_.push_back(route);
  options.address = config_.http_address;
  options.port = config_.http_port;
  options.threads = 2;
  options.tls = config_.http_access.tls;
  options.token_file = config_.http_access.token_file;
  options.hosts = config_.http_access.hosts;
  options.refusals = http_refusals_;
  WATTLE_TRY(http::Server server, http::Server::start(options, std::move(routes), log));
  http_ = std::make_unique<http::Server>(std::move(server));
  endpoints_.http_port = http_->port();
  return {};
}

// A separate listener, which agents reach and which serves no other pages.
Status Controller::start_enrolment(const std::string& public_key, const Clock& clock, const Log& log) {
  const EnrolConfig& config = config_.enrol;
  if (!config.enabled()) return {};
  WATTLE_CHECK(may_replace(config_.allow_file));
  if (!config.tokens.empty()) WATTLE_CHECK(may_replace(config.tokens));
  WATTLE_TRY(auto reviewer, CombinedReviewer::of_config(config, api_, clock));
  EnrolOptions own{config_.allow_file, config_.key_file, public_key};
  own.admit_reader = [this, &clock](const std::string& key, Duration valid) {
    return context_.admit_guest(key, clock.mono() + valid);
  };
  enrolment_ = std::make_unique<Enrolment>(std::move(own), std::move(reviewer), enrol_counts_, clock, log);
  http::ServerOptions options;
  options.address = config.address;
  options.port = config.port;
  options.threads = 1;
  options.max_header_bytes = 24 << 10;
  options.idle_timeout = milliseconds(5000);
  options.request_timeout = milliseconds(5000);
  options.tls = config.tls;
  options.refusals = enrol_refusals_;
  http::Routes routes;
  routes["POST /api/v1/enrol"] = {[this](const http::Request& request) { return enrolment_->answer(request); },
                                  kMostEnrolBytes};
  WATTLE_TRY(http::Server server, http::Server::start(options, std::move(routes), log));
  enrol_server_ = std::make_unique<http::Server>(std::move(server));
  endpoints_.enrol_port = enrol_server_->port();
  return {};
}

Controller::~Controller() {
  stop_ = true;
  enrol_server_.reset();
  if (tasks_) tasks_->wake();
  if (thread_.joinable()) {
    thread_.join();
  } else if (tasks_) {
    tasks_->close();  // the loop never ran, so nothing else answers
  }
  http_.reset();
  loop_.reset();
  sleep_.reset();
  provisioning_.reset();
  watch_.stop();
  rollout_.reset();
  saver_.reset();
  store_.reset();
  margin_learner_.reset();
  learning_.reset();
}

}  // namespace wattle::controller
