// pod: what an Ask tells of a pod, from its v1.Pod.
// Source   metadata.{uid,name,namespace,labels,annotations,ownerReferences}, spec.{nodeName,schedulerName,containers,initContainers,
//          overhead,affinity,topologySpreadConstraints,tolerations}
// Units    cores, bytes, ms
// Errors   none: what cannot be read is told in Ask::problems and left at its default
// Threads  pure
#pragma once

#include <string>

#include "common/json/value.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

// Gives the scheduler that it names.
std::string read_pod(const SortedJson& pod, wire::Ask& into);

}  // namespace wattle::shim
