// record_json: builds the document `record`: the history of a cluster, so that `wattle-sim improve` can replay its
// days.
// Parts    of=nodes: nodes and their current curves; of=pods: arrival, request, lifetime and usage of pods; of=hours:
//          energy of nodes
// Pages    pods and hours: `next` is the argument `after` of the following page; null on the last page
// Bounds   kMostRecordRows rows per page
// Errors   malformed (arguments), not_found (no store), unavailable, and those of the
//          database
// Threads  record_text: the thread that owns the file; record_nodes_text: the owner of the parts; the others any
#pragma once

#include <future>
#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/steps.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostRecordRows = 2000;

struct RecordQuery {
  bool pods = true;  // otherwise hours
  std::int64_t since_s = 0, now_s = 0;
  std::string after_uid;
  std::int64_t after_slot_s = 0, after_node = 0;
};

// Returns true for a `record` document that the store's thread builds.
bool is_record(const std::string& what, const std::map<std::string, std::string>& arguments);
Result<RecordQuery> parse_record(const std::map<std::string, std::string>& arguments, WallTime now);
Result<std::string> record_text(StoreFile& file, const RecordQuery& query);
Result<std::future<Result<std::string>>> ask_record(Store& store, const std::map<std::string, std::string>& arguments,
                                                    WallTime now);
Document record_nodes_text(const ClusterState& state, const std::map<std::string, std::string>& arguments);

}  // namespace wattle::controller
