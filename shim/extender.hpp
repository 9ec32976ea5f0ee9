// extender: kube-scheduler's extender protocol v1, as text on one side and as an Ask and scores on the other. Pure.
// Source   k8s.io/kube-scheduler/extender/v1: {"Pod":{...},"Nodes":null|{...},"NodeNames":null|[...]}; Go names at the
//          top, the API's lower camel case below; the reply to prioritize is a bare array [{"Host":"n1","Score":7}]
// Units    requests in cores and bytes, latencies in ms, scores integers 0..10 (kube-scheduler multiplies by weight x 10,
//          and throws a whole reply away for one number with a fraction)
// Errors   malformed: no JSON, or a key of the wrong type; the subject is the key's path
// Threads  pure functions
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

// ExtenderArgs -> Ask. What is wrong in an annotation or a quantity is told in Ask::problems and ignored.
Result<wire::Ask> parse_extender_args(std::string_view json);

// One object per candidate, in order. Both have the same size.
std::string format_scores(std::span<const std::string> candidates, std::span<const std::int64_t> scores);

}  // namespace wattle::shim
