// record_json: builds the document `record`: the history of a cluster, so that `wattle-sim improve` can replay its
// days.
// Parts    of=nodes: nodes and their current curves; of=pods: arrival, request, lifetime and usage of pods; of=hours:
//          energy of nodes
// Pages    pods and hours: `next` is the argument `after` of the following page; null on the last page
// Bounds   kMostRecordRows rows per page
// Errors   malformed (arguments), not_found (no store), unavailable, and those of the database
// Threads  record_text: the thread that owns the file; record_nodes_text: the owner of the parts; the others any
#pragma once

#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/steps.hpp"
#include "controller/store/store.hpp"
#include "controller/web/arguments.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostRecordRows = 2000;

struct RecordQuery {
  bool pods = true;  // otherwise hours
  std::int64_t since_s = 0, now_s = 0;
  std::string after_uid;
  std::int64_t after_slot_s = 0, after_node = 0;
};

Result<RecordQuery> parse_record(const Arguments& arguments, WallTime now);
Result<std::string> record_text(StoreFile& file, const RecordQuery& query);
Document record_nodes_text(const ClusterState& state, const Arguments& arguments);

}  // namespace wattle::controller
