// extender: kube-scheduler's extender protocol v1, as text on one side and as an Ask and scores on the other. Pure.
// Source   k8s.io/kube-scheduler/extender/v1: {"Pod":{...},"Nodes":null|{...},"NodeNames":null|[...]}; Go names at the
//          top, the API's lower camel case below; the reply to prioritize is a bare array [{"Host":"n1","Score":7}], to filter
//          {"NodeNames":["n1"],"FailedNodes":{},"FailedAndUnresolvableNodes":{"n2":"why"},"Error":""}. No list of nodes that passed,
//          and an empty one, make the pod unschedulable
// Units    requests in cores and bytes, latencies in ms, scores integers 0..10 (kube-scheduler multiplies by weight x 10,
//          and throws a whole reply away for one number with a fraction)
// Errors   malformed: no JSON, or a key of the wrong type; the subject is the key's path
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

// ExtenderArgs -> Ask. What is wrong in an annotation or a quantity is told in Ask::problems and ignored.
Result<PodAsk> parse_extender_args(std::string_view json);

// Of a request that makes no ask, the candidates alone: so that all of them can pass.
std::vector<std::string> names_of(std::string_view json);
// The value of a member of the outermost object as it stands in a text that is JSON; absent: there is none, or it is null.
std::optional<std::string_view> raw_member(std::string_view json, std::string_view key);
// Every member of the outermost object, and every item of the outermost array, of a text that is JSON: names without escapes, values as
// they stand in the text. Empty: the text is something else.
struct RawMember {
  std::string name;
  std::string_view value;
};
std::vector<RawMember> raw_members(std::string_view json);
std::vector<std::string_view> raw_items(std::string_view json);
// Appends the text with its quotes and escapes.
void append_text(std::string& out, const std::string& text);

// One object per candidate whose score is not 0, in order; both have the same size. A node that is left out counts 0 for
// kube-scheduler, which reads, boxes and draws lots for each that is named: an empty list leaves it as it is without us.
std::string format_scores(std::span<const std::string> candidates, std::span<const std::int64_t> scores);

// What passed, and why others did not. Who does not pass does not because of what preempting pods would not change.
std::string format_filter(std::span<const std::string> passed, const std::map<std::string, std::string>& vetoed);
// Whole nodes were sent, whole nodes are given back: all of them.
std::string format_filter_nodes(std::string_view raw_nodes);

}  // namespace wattle::shim
