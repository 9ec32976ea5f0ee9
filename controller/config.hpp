// config: the settings of a controller from its configuration file.
// Source   a strict YAML file (docs/reference/configuration.md lists the keys); all keys but the two key files have
//          defaults
// Units    in names; times are "250ms", "10s", "2m"
// Errors   malformed: all mistakes at once, each with file, line, key and fix
// Threads  values
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/config.hpp"
#include "common/http/access.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "controller/enrol/token_review.hpp"
#include "controller/kube/watch.hpp"
#include "controller/power/sleep_config.hpp"
#include "controller/provision/margin_trial.hpp"
#include "controller/provision/prometheus.hpp"
#include "controller/rollout/rollout_spec.hpp"
#include "controller/tariff.hpp"
#include "placement/cluster/budget.hpp"
#include "placement/decide/decide.hpp"
#include "placement/judge/modelled_saving.hpp"
#include "placement/worth/reward.hpp"
#include "provision/minute/drpc_reward.hpp"

namespace wattle::controller {

inline constexpr int kReplay = 20'000;  // newest transitions kept: 150 MB for a thousand nodes

// Only tests and benchmarks change members without a key in the file; every controller uses their defaults.
struct LearnConfig {
  bool enabled = true;
  Duration checkpoint_every = std::chrono::seconds(30);
  int warmup = 128;  // transitions before the first step
  int batch = 64;    // transitions per step; without a key: at most warmup
  // No key: at this rate training on a shared core does not slow decisions noticeably.
  double steps_per_s = 50;      // at most
  double duty_ratio = 0.25;     // at most this share of one core
  int freeze_every_steps = 25;  // a new network serves after this many steps
  // No key: a residual corrects a reward of about -10 to 0, so a larger one means divergence.
  double max_abs_residual = 1e5;                       // a network with a larger residual does not serve
  int n_step = 3;                                      // placements that a transition spans at most
  double tau_s = 300;                                  // time constant of the discount between placements
  Duration settle_expiry = std::chrono::seconds(120);  // outcomes later than this are lost; longer than any window
  double learning_rate = 5e-4;                         // of Adam
  double epsilon = 0;                                  // decide.epsilon, for the curves
  std::size_t shortlist = placement::NetworkOptions().shortlist;  // nodes that the network ranks
  // Initial network if there is no checkpoint: auto (the file of the preset in models_dir), none, or a file.
  std::string pretrained = "auto";
  bool tabular = false;  // policy tabular-q is configured: a table of Q in place of the network of dqn
  std::int64_t seed = 1;
};

struct StoreConfig {
  std::string path;  // empty: nothing outlives the process, and records are acknowledged at once
  std::int64_t max_bytes = std::int64_t{256} << 20;
  Duration keep = std::chrono::hours(1);                // of raw records
  Duration history_keep = std::chrono::hours(24 * 30);  // of decisions, and of hourly usage for `wattle report`
  // Size of each: decisions, hourly usage.
  std::int64_t history_max_bytes() const { return max_bytes / 4; }
};

// Enrolment, by which agents put their own keys on the allow list.
struct EnrolConfig {
  std::string tokens;       // file of hashed tokens; empty: no enrolment by token
  bool kubernetes = false;  // service accounts' tokens, which the API server reviews
  TokenReviewOptions review;
  std::string reader;  // account of people who read by `wattle --context`: "namespace/name"; empty: none
  std::string address = "127.0.0.1";
  std::uint16_t port = 7463;
  http::TlsFiles tls;
  bool enabled() const { return kubernetes || !tokens.empty(); }
};

// Handling of pods' requests.
enum class ProvisionLevel {
  off,
  suggest,   // suggests the numbers
  requests,  // and `wattle provision set --follow` may set them
};

struct ControllerConfig {
  ModeSetting mode;
  placement::NetworkOptions network;  // not from the file
  // If true, measured blocks decide which candidate serves (docs/reference/rollout.md, Candidates). The configuration
  // file's default is true.
  bool measure_candidates = false;
  std::string data_dir = "/var/lib/wattle-controller";
  std::string key_file;    // this controller's key pair
  std::string allow_file;  // which key may do what
  std::string telemetry_endpoint = "tcp://*:7460";
  std::string feed_endpoint = "tcp://*:7461";
  std::string ask_endpoint = "tcp://*:7462";
  std::string http_address = "127.0.0.1";
  std::uint16_t http_port = 8050;
  http::Access http_access;
  std::string operator_token_file;  // grants changes from the page; empty: none are allowed
  std::string policy = "dqn";
  placement::BudgetLimits limits;
  placement::DecideOptions decide;                     // reward, masks, exploration
  SwitchbackSchedule blocks;                           // lengths of blocks in mode canary
  placement::ModelledOptions modelled{.block_s = 60};  // blocks of the modelled saving
  std::int64_t seed = 1;
  // Not from the file: longer than an agent takes to report a pod that starts, even while its image is pulled.
  Duration in_flight_expiry = std::chrono::seconds(30);
  // Not from the file: a scheduler that repeats an ask after its own timeout (50 ms to 1 s) gets the same answer.
  Duration repeat_within = std::chrono::seconds(2);
  int look_ahead = 0;                     // pods of the API server's queue that a decision keeps room for; 0: none
  std::optional<Duration> settle_window;  // unset: the preset's, or kSettleWindow
  int decision_ring = 1000;               // decisions in memory, 1 MB; not from the file
  LearnConfig learn;
  // Folder of the shipped networks; from the program's path, not from the file. Empty: unknown.
  std::string models_dir;
  std::uint64_t descriptor_limit = 0;  // of this process, not from the file; 0: unknown
  StoreConfig store;
  Tariff tariff;
  EnrolConfig enrol;
  KubeConfig kube;
  ProvisionLevel provision = ProvisionLevel::suggest;
  TeacherMode teacher = TeacherMode::shadow;  // of margins, where learn.enabled
  models::provision::TeacherReward teacher_reward = models::provision::TeacherReward::waste;
  PrometheusConfig prometheus;    // source of rates and latencies that nodes do not know
  bool suggest_replicas = false;  // of workloads whose rates Prometheus has; asks the API server for autoscalers
  power::SleepSettings sleep;
  // Schedulers that should ask about each pod; those of connected shims are added.
  std::vector<std::string> schedulers{"wattle"};
  LogLevel log_level = LogLevel::info;
};

// Time for which an outcome is watched: the configured one, or else the preset's, or else kSettleWindow.
inline constexpr Duration kSettleWindow = std::chrono::seconds(10);
Duration settle_window(const ControllerConfig& config, placement::Preset preset);

// Spec that the configuration requests.
RolloutSpec configured_spec(const ControllerConfig& config);

Result<ControllerConfig> load_config(const std::string& path);
Result<ControllerConfig> parse_config(const std::string& text, const std::string& name);
// All keys with their defaults, for docs/reference/configuration.md.
std::vector<config::Key> config_keys();

}  // namespace wattle::controller
