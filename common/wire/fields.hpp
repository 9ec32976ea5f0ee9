// fields: order of each message's fields on the wire, used by encode, decode and messages.md.
// Add a field only at the end of its list; never remove or move one or change its meaning.
// Threads  pure
#pragma once

#include "common/wire/messages.hpp"
#include "common/wire/record_fields.hpp"

namespace wattle::wire {

template <class V>
void fields(V& v, Hello& m) {
  v("version_min", m.version_min);
  v("version_max", m.version_max);
  v("node", m.node);
  v("incarnation", m.incarnation);
  v("agent_version", m.agent_version);
  v("features", m.features);
  v("labels", m.labels);
  v("cpu_cores", m.cpu_cores);
  v("memory_bytes", m.memory_bytes);
  v("pod_capacity", m.pod_capacity);
  v("max_batch", m.max_batch);
  v("findings", m.findings);
  v("link_bytes_per_s", m.link_bytes_per_s);
  v("disk_bytes_per_s", m.disk_bytes_per_s);
}

template <class V>
void fields(V& v, Welcome& m) {
  v("version", m.version);
  v("controller_version", m.controller_version);
  v("max_batch", m.max_batch);
  v("max_message_bytes", m.max_message_bytes);
  v("credit", m.credit);
  v("acked_incarnation", m.acked_incarnation);
  v("acked_seq", m.acked_seq);
}

template <class V>
void fields(V& v, Samples& m) {
  v("records", m.records);
  v("gaps", m.gaps);
}

template <class V>
void fields(V& v, Live& m) {
  v("records", m.records);
}

template <class V>
void fields(V& v, SleepOrder& m) {
  v("operation", m.operation);
  v("depth", m.depth);
  v("by_agent", m.by_agent);
  v("granted", m.granted);
  v("wake_after_s", m.wake_after_s);
}

template <class V>
void fields(V& v, Goodbye& m) {
  v("operation", m.operation);
  v("refused", m.refused);
}

template <class V>
void fields(V& v, MarginStep& m) {
  v("minute", m.minute);
  v("margin_ratio", m.margin_ratio);
  v("memory_margin_ratio", m.memory_margin_ratio);
}

template <class V>
void fields(V& v, Ack& m) {
  v("incarnation", m.incarnation);
  v("seq", m.seq);
  v("credit", m.credit);
  v("pod_levels", m.pod_levels);
  v("margins", m.margins);
  v("student_version", m.student_version);
  v("student", m.student);
  v("tick_ms", m.tick_ms);
}

template <class V>
void fields(V& v, Ping& m) {
  v("nonce", m.nonce);
  v("mono_ns", m.mono_ns);
}

template <class V>
void fields(V& v, Pong& m) {
  v("nonce", m.nonce);
  v("mono_ns", m.mono_ns);
  v("peer_mono_ns", m.peer_mono_ns);
  v("peer_wall_ns", m.peer_wall_ns);
}

template <class V>
void fields(V& v, Refusal& m) {
  v("subject", m.subject);
  v("what", m.what);
  v("fix", m.fix);
}

template <class V>
void fields(V& v, Placement& m) {
  v("pod_uid", m.pod_uid);
  v("node", m.node);
  v("gone", m.gone);
  v("cgroup_id", m.cgroup_id);
  v("wall_ns", m.wall_ns);
}

template <class V>
void fields(V& v, NextPod& m) {
  v("app", m.app);
  v("cpu_request_cores", m.cpu_request_cores);
  v("memory_request_bytes", m.memory_request_bytes);
}

template <class V>
void fields(V& v, Ask& m) {
  v("request_id", m.request_id);
  v("pod_uid", m.pod_uid);
  v("pod_name", m.pod_name);
  v("pod_namespace", m.pod_namespace);
  v("app", m.app);
  v("cpu_request_cores", m.cpu_request_cores);
  v("memory_request_bytes", m.memory_request_bytes);
  v("daemonset", m.daemonset);
  v("latency_soft_ms", m.latency_soft_ms);
  v("latency_hard_ms", m.latency_hard_ms);
  v("latency_target", m.latency_target);
  v("node_name", m.node_name);
  v("candidates", m.candidates);
  v("problems", m.problems);
  v("deadline_ms", m.deadline_ms);
  v("defer_ms", m.defer_ms);
  v("next", m.next);
  v("owner", m.owner);
  v("prefers", m.prefers);
  v("score_limit", m.score_limit);
  v("tolerates", m.tolerates);
  v("hold_ms", m.hold_ms);
}

template <class V>
void fields(V& v, Suggestion& m) {
  v("request_id", m.request_id);
  v("decision_id", m.decision_id);
  v("neutral", m.neutral);
  v("reason", m.reason);
  v("policy", m.policy);
  v("mode", m.mode);
  v("model_step", m.model_step);
  v("scores", m.scores);
  v("again_ms", m.again_ms);
  v("defer_left_ms", m.defer_left_ms);
}

template <class V>
void fields(V& v, Candidate& m) {
  v("node", m.node);
  v("masked", m.masked);
  v("score", m.score);
  v("q", m.q);
  v("prior", m.prior);
  v("residual", m.residual);
  v("marginal_w", m.marginal_w);
  v("leaves_out", m.leaves_out);
  v("wakes_for_next", m.wakes_for_next);
}

template <class V>
void fields(V& v, Outcome& m) {
  v("node", m.node);
  v("reward", m.reward);
  v("end_of_episode", m.end_of_episode);
  v("terms", m.terms);
  v("failure", m.failure);
}

template <class V>
void fields(V& v, Decision& m) {
  v("id", m.id);
  v("wall_ns", m.wall_ns);
  v("pod_uid", m.pod_uid);
  v("pod_name", m.pod_name);
  v("pod_namespace", m.pod_namespace);
  v("policy", m.policy);
  v("mode", m.mode);
  v("model_step", m.model_step);
  v("advice", m.advice);
  v("propensity", m.propensity);
  v("explored", m.explored);
  v("reason", m.reason);
  v("candidates", m.candidates);
  v("problems", m.problems);
  v("placed_on", m.placed_on);
  v("outcome", m.outcome);
  v("decide_us", m.decide_us);
  v("decided_by", m.decided_by);
  v("defer_ms", m.defer_ms);
  v("defer_until_ns", m.defer_until_ns);
  v("next_pods", m.next_pods);
}

template <class V>
void fields(V& v, BoardClass& m) {
  v("cpu_request_cores", m.cpu_request_cores);
  v("scores", m.scores);
}

template <class V>
void fields(V& v, Board& m) {
  v("epoch", m.epoch);
  v("seq", m.seq);
  v("ttl_ms", m.ttl_ms);
  v("neutral", m.neutral);
  v("policy", m.policy);
  v("model_step", m.model_step);
  v("classes", m.classes);
  v("last_decision", m.last_decision);
  v("start_window_ms", m.start_window_ms);
  v("starts_left", m.starts_left);
}

template <class V>
void fields(V& v, NodeState& m) {
  v("node", m.node);
  v("connected", m.connected);
  v("age_ms", m.age_ms);
  v("values", m.values);
  v("power_w", m.power_w);
  v("pods", m.pods);
  v("cpu_requested_cores", m.cpu_requested_cores);
  v("memory_requested_bytes", m.memory_requested_bytes);
  v("probes", m.probes);
}

template <class V>
void fields(V& v, StateChange& m) {
  v("epoch", m.epoch);
  v("seq", m.seq);
  v("state", m.state);
}

template <class V>
void fields(V& v, Snapshot& m) {
  v("epoch", m.epoch);
  v("seq", m.seq);
  v("states", m.states);
  v("board", m.board);
  v("request_id", m.request_id);
}

template <class V>
void fields(V& v, Query& m) {
  v("request_id", m.request_id);
  v("what", m.what);
  v("arguments", m.arguments);
}

template <class V>
void fields(V& v, Reply& m) {
  v("request_id", m.request_id);
  v("ok", m.ok);
  v("body", m.body);
  v("error", m.error);
}

}  // namespace wattle::wire
