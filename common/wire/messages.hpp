// messages: all kinds of messages between Wattle's processes, as plain values. messages.md describes their fields.
// Units    in every name
// Threads  values
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/sample.hpp"

namespace wattle::wire {

// Supported versions. A peer of version N talks to N-1: fields are only ever added at a message's end.
inline constexpr std::uint64_t kVersionMin = 1;
inline constexpr std::uint64_t kVersionMax = 6;
inline constexpr std::uint64_t kLiveSince = 3;   // first version with Live
inline constexpr std::uint64_t kSleepSince = 6;  // first version with SleepOrder and Goodbye

enum class Kind : std::uint8_t {
  hello = 1,
  welcome = 2,
  samples = 3,
  ack = 4,
  ping = 5,
  pong = 6,
  refusal = 7,
  ask = 8,
  suggestion = 9,
  decision = 10,
  placement = 11,
  board = 12,
  state_change = 13,
  snapshot = 14,
  query = 15,
  reply = 16,
  live = 17,
  sleep_order = 18,
  goodbye = 19,
};
std::string_view to_string(Kind kind);

// ---- telemetry: agent (DEALER) <-> controller (ROUTER)

// First message of an agent's session.
struct Hello {
  std::uint64_t version_min = kVersionMin;
  std::uint64_t version_max = kVersionMax;
  std::string node;  // must be the name that the key is allowed for
  std::uint64_t incarnation = 0;
  std::string agent_version;
  std::vector<std::string> features;  // "psi", "rapl", "cgroup-io"
  std::map<std::string, std::string> labels;
  double cpu_cores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t pod_capacity = 0;     // maximum number of pods on the node; 0: unknown
  std::uint64_t max_batch = 0;        // records that the agent wants to put into one Samples
  std::vector<std::string> findings;  // doctor: "name: ok|lost|absent: why (fix)"
  double link_bytes_per_s = 0;        // sum of all links, one way; 0: unknown
  double disk_bytes_per_s = 0;        // sum of all disks; 0: unknown
};

struct Welcome {
  std::uint64_t version = kVersionMax;  // version of all later messages
  std::string controller_version;
  std::uint64_t max_batch = 0;  // records per Samples
  std::uint64_t max_message_bytes = 0;
  std::uint64_t credit = 0;             // records that may be in flight
  std::uint64_t acked_incarnation = 0;  // the controller has stored this node's records up to here
  std::uint64_t acked_seq = 0;
};

struct Samples {
  std::vector<Record> records;  // all of one incarnation, ascending by seq
  std::vector<RecordGap> gaps;  // gaps in earlier incarnations, which no later number reveals; ascending
};

// The newest interval, sent while older records wait so that views and decisions use it now. It is not acknowledged,
// and is sent again in Samples in order.
struct Live {
  std::vector<Record> records;  // the parts of one interval of the session's incarnation
};

// Controller to agent: the node is to sleep. The first order (granted unset) asks for a goodbye, the second reports
// that the goodbye is stored. Repeats are harmless.
struct SleepOrder {
  std::uint64_t operation = 0;
  std::string depth;               // "suspend", "off"
  bool by_agent = false;           // the agent itself puts the node to sleep; else a driver of the controller does
  bool granted = false;            // false: prepare and say goodbye; true: the goodbye is stored, sleep now
  std::uint64_t wake_after_s = 0;  // RTC alarm that wakes the node if no other means does; 0: none
};

// Agent to controller: the node is ready to sleep. All its records are acknowledged.
struct Goodbye {
  static constexpr std::size_t kMaxRefusedBytes = 512;
  std::uint64_t operation = 0;  // number of the order
  std::string refused;          // why the node cannot sleep now; empty: it says goodbye
};

// Margin that a service's limit should have after the end of that minute (LimitMinute).
struct MarginStep {
  std::uint64_t minute = 0;
  double margin_ratio = 0;
  std::optional<double> memory_margin_ratio = {};  // unset: the node's own rule decides
  bool operator==(const MarginStep&) const = default;
};

struct Ack {
  std::uint64_t incarnation = 0;
  std::uint64_t seq = 0;  // cumulative: everything up to here is stored
  std::uint64_t credit = 0;
  std::map<std::string, std::string> pod_levels =
      {};  // levels of the node's pods that have their own annotation, by UID: off, suggest, limits
  std::map<std::string, MarginStep> margins = {};  // services and VMs of the node that the controller steers, by name
  std::uint64_t student_version = 0;      // of the student that the node's services without known latency get; 0: none
  std::vector<std::string> student = {};  // base64 of its file, in parts; once per session and version, then empty
  std::uint64_t tick_ms = 0;  // shortest interval of records while the controller is overloaded; 0: the agent's own
};

struct Ping {
  std::uint64_t nonce = 0;
  std::int64_t mono_ns = 0;  // clock of the sender
};

struct Pong {
  std::uint64_t nonce = 0;
  std::int64_t mono_ns = 0;       // copied from the Ping
  std::int64_t peer_mono_ns = 0;  // clock of the answering peer
  std::int64_t peer_wall_ns = 0;
};

// Answer to a message that cannot be accepted; ends the session.
struct Refusal {
  std::string subject;
  std::string what;
  std::string fix;
};

// A pod's cgroup appeared on the sender's node or disappeared from it.
struct Placement {
  std::string pod_uid;
  std::string node;
  bool gone = false;
  std::uint64_t cgroup_id = 0;  // 0: reported by an operator, not by a cgroup
  std::int64_t wall_ns = 0;
};

// ---- ask: shim and CLI (DEALER) <-> controller (ROUTER)

// A pod that is expected next, as far as the sender knows.
struct NextPod {
  std::string app;
  double cpu_request_cores = 0;
  double memory_request_bytes = 0;
};

struct Ask {
  std::uint64_t request_id = 0;
  std::string pod_uid;
  std::string pod_name;  // for people; never a feature
  std::string pod_namespace;
  std::string app;  // owner and image: "ReplicaSet/web-5d9 nginx:1.25"
  double cpu_request_cores = 0;
  double memory_request_bytes = 0;
  bool daemonset = false;  // owned by a DaemonSet, or static
  std::optional<double> latency_soft_ms, latency_hard_ms;
  std::string latency_target;           // probe name; empty: the default one
  std::string node_name;                // spec.nodeName, if already bound
  std::vector<std::string> candidates;  // nodes that passed the scheduler's filters
  std::vector<std::string> problems;    // ignored annotations, with the reason
  double deadline_ms = 0;
  double defer_ms = 0;        // longest time that the pod may be deferred, counted from its first ask; 0: place now
  std::vector<NextPod> next;  // ordered
  std::string owner;          // "namespace/ReplicaSet/web-5d9", whose replicas are spread; empty: no owner
  std::vector<std::string> prefers;    // soft preferences that the scheduler scores: "node affinity", "topology spread"
  std::int64_t score_limit = 0;        // highest score that does not outvote `prefers`, 1..10; 0: no limit
  std::vector<std::string> tolerates;  // tolerated PreferNoSchedule taints: "key=value", "key" (any value), "*" (all)
  double hold_ms = 0;  // time for which the scheduler may hold the pod unbound after its choice; 0: it binds at once
};

struct Suggestion {
  std::uint64_t request_id = 0;
  std::uint64_t decision_id = 0;  // 0: not recorded
  bool neutral = true;            // all scores 0 on purpose
  std::string reason;             // why neutral, or which rule scored
  std::string policy;
  std::string mode;  // "off", "shadow", "canary", "live"
  std::uint64_t model_step = 0;
  std::vector<std::int64_t> scores;  // 0..10 for each candidate, in the same order
  double again_ms = 0;               // deferred: when to ask again; 0: not deferred
  double defer_left_ms = 0;          // deferred: when the pod is placed at the latest
};

// ---- feed: controller (XPUB) -> shim, CLI

// A node's part in a decision.
struct Candidate {
  std::string node;
  std::string masked;      // why the node is infeasible; empty: feasible
  std::int64_t score = 0;  // 0..10
  double q = 0;            // prior + residual, reward units; 0 when masked
  double prior = 0;
  double residual = 0;
  double marginal_w = 0;  // predicted power that this pod adds
  // Effect on the next pods if this pod is placed here: how many fewer find room, and how many more nodes wake for
  // them.
  std::uint64_t leaves_out = 0;
  std::uint64_t wakes_for_next = 0;
};

// Result of a decision after its settle window.
struct Outcome {
  std::string node;  // node on which the pod actually runs
  double reward = 0;
  bool end_of_episode = false;
  std::map<std::string, double> terms;  // reward terms, and raw values with their unit in the name
  std::string failure;  // how the pod failed there: failed_start, crash, oom_kill, evicted; empty: it did not
};

struct Decision {
  std::uint64_t id = 0;
  std::int64_t wall_ns = 0;
  std::string pod_uid;
  std::string pod_name;
  std::string pod_namespace;
  std::string policy;
  std::string mode;
  std::uint64_t model_step = 0;
  std::string advice;     // node given the top score; empty when neutral
  double propensity = 0;  // probability of that advice
  bool explored = false;
  std::string reason;
  std::vector<Candidate> candidates;
  std::vector<std::string> problems;
  std::string placed_on;  // empty: not yet seen
  std::optional<Outcome> outcome;
  double decide_us = 0;  // duration of the decision
  std::string
      decided_by;  // plan, network, explore, fallback, rule, bound, neutral, defer; docs/reference/api.md#decisions
  double defer_ms = 0;              // when to ask again; 0: not deferred
  std::int64_t defer_until_ns = 0;  // wall clock; end of the deferral
  std::uint64_t next_pods = 0;      // number of next pods considered
};

// Scores for pods of a class, used when an ask is not answered in time.
struct BoardClass {
  double cpu_request_cores = 0;                // upper end of the class
  std::map<std::string, std::int64_t> scores;  // node -> 0..10; missing: 0
};

struct Board {
  std::uint64_t epoch = 0;  // controller start
  std::uint64_t seq = 0;
  double ttl_ms = 0;    // counted from receipt
  bool neutral = true;  // mode is off or shadow, or a control block
  std::string policy;
  std::uint64_t model_step = 0;
  std::vector<BoardClass> classes;                   // ascending by cpu_request_cores
  std::uint64_t last_decision = 0;                   // newest decision that starts_left includes
  double start_window_ms = 0;                        // how long a start counts; 0: no cap
  std::map<std::string, std::uint64_t> starts_left;  // how many more pods each listed node may get
};

struct NodeState {
  std::string node;
  bool connected = false;
  double age_ms = 0;  // since the last sample
  NodeValues values;
  double power_w = 0;  // over the last interval
  std::uint64_t pods = 0;
  double cpu_requested_cores = 0;
  double memory_requested_bytes = 0;
  std::vector<ProbeValues> probes;
};

struct StateChange {
  std::uint64_t epoch = 0;
  std::uint64_t seq = 0;
  NodeState state;
};

struct Snapshot {
  std::uint64_t epoch = 0;
  std::uint64_t seq = 0;  // state up to and including this one
  std::vector<NodeState> states;
  Board board;
  std::uint64_t request_id = 0;  // copied from the Query "snapshot"
};

// ---- query: CLI -> controller, over the ask socket

struct Query {
  std::uint64_t request_id = 0;
  std::string what;  // "nodes", "node", "pods", "decisions", "explain", "doctor", "status", "snapshot", "confirm"
  std::map<std::string, std::string> arguments;
};

struct Reply {
  std::uint64_t request_id = 0;
  bool ok = false;
  std::string body;   // JSON: the same document as /api/v1/<what>
  std::string error;  // only if not ok
};

using Message = std::variant<Hello, Welcome, Samples, Ack, Ping, Pong, Refusal, Ask, Suggestion, Decision, Placement,
                             Board, StateChange, Snapshot, Query, Reply, Live, SleepOrder, Goodbye>;

Kind kind_of(const Message& message);

}  // namespace wattle::wire
