// pod: reads the fields of an Ask from a v1.Pod.
// Source   metadata.{uid,name,namespace,labels,annotations,ownerReferences}, spec.{nodeName,schedulerName,containers,
//          initContainers,overhead,affinity,topologySpreadConstraints,tolerations}
// Units    cores, bytes, ms
// Errors   none: unreadable values keep their default and are listed in Ask::problems
// Threads  pure
#pragma once

#include <string>

#include "common/json/value.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

// Fills `into` and returns the name of the pod's scheduler.
std::string read_pod(const SortedJson& pod, wire::Ask& into);

}  // namespace wattle::shim
