// extender: converts between kube-scheduler's extender protocol v1 and asks and scores. Pure.
// Source   k8s.io/kube-scheduler/extender/v1: {"Pod":{...},"Nodes":null|{...},"NodeNames":null|[...]}; Go names at the
//          top, the API's lower camel case below. The reply to prioritize is a bare array [{"Host":"n1","Score":7}], to
//          filter {"NodeNames":["n1"],"FailedNodes":{},"FailedAndUnresolvableNodes":{"n2":"why"},"Error":""}. A missing
//          or empty list of nodes that passed makes the pod unschedulable
// Units    requests in cores and bytes, latencies in ms, scores integers 0..10 (kube-scheduler multiplies by weight x
//          10, and rejects a whole reply if one number has a fraction)
// Errors   malformed: not JSON, or a key of the wrong type; the subject is the key's path
// Threads  pure functions
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

struct PodAsk : wire::Ask {
  std::string scheduler;  // spec.schedulerName
};

// Converts ExtenderArgs to an ask. Invalid annotations and quantities are ignored and listed in Ask::problems.
Result<PodAsk> parse_extender_args(std::string_view json);

// The same from a v1.Pod and its candidates.
Result<PodAsk> parse_pod_ask(std::string_view pod, std::vector<std::string> candidates);

// Candidates of a request that is not a valid ask, so that all of them can pass.
std::vector<std::string> names_of(std::string_view json);
// Unparsed value of a member of the outermost object of a JSON text; no value if it is missing or null.
std::optional<std::string_view> raw_member(std::string_view json, std::string_view key);
// Unparsed members of the outermost object, or items of the outermost array, of a JSON text; names without escapes.
// Empty for any other text.
struct RawMember {
  std::string name;
  std::string_view value;
};
std::vector<RawMember> raw_members(std::string_view json);
std::vector<std::string_view> raw_items(std::string_view json);
// Appends the text as a JSON string.
void append_text(std::string& out, const std::string& text);

// Lists the candidates whose score is not 0, in order; both arguments have the same size. For kube-scheduler a missing
// node has score 0, and each listed node costs it time; an empty list leaves its choice unchanged.
std::string format_scores(std::span<const std::string> candidates, std::span<const std::int64_t> scores);

// Lists the nodes that passed, and the reasons of the others as unresolvable, because preempting pods would not change
// them.
std::string format_filter(std::span<const std::string> passed, const std::map<std::string, std::string>& vetoed);
// Returns all nodes unchanged, as whole objects.
std::string format_filter_nodes(std::string_view raw_nodes);

}  // namespace wattle::shim
