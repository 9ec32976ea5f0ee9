// record_json: the document `record`: what a cluster has lived through, so that its days can be played again (`wattle-sim improve`).
// Parts    of=nodes: what nodes are, and their curves as they are known now; of=pods: who came when, asked for what, lived how long and used
//          how much; of=hours: what nodes drew
// Pages    pods and hours: `next` is the argument `after` of the page behind; null: there is none
// Bounds   kMostRecordRows rows a page
// Errors   malformed (arguments), not_found (no store, or store.usage.max_bytes is 0), unavailable, and the database's
// Threads  record_text: the thread that owns the file; record_nodes_text: the owner of the sources; the others any
#pragma once

#include <future>
#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "controller/store/store.hpp"
#include "controller/web/sources.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostRecordRows = 2000;

struct RecordQuery {
  bool pods = true;  // else hours
  std::int64_t since_s = 0, now_s = 0;
  std::string after_uid;
  std::int64_t after_slot_s = 0, after_node = 0;
};

// Whether a document is one of these that the store's thread makes.
bool is_record(const std::string& what, const std::map<std::string, std::string>& arguments);
Result<RecordQuery> parse_record(const std::map<std::string, std::string>& arguments, WallTime now);
Result<std::string> record_text(StoreFile& file, const RecordQuery& query);
Result<std::future<Result<std::string>>> ask_record(Store* store, const std::map<std::string, std::string>& arguments,
                                                    WallTime now);
Result<std::string> record_nodes_text(const Sources& from, const std::map<std::string, std::string>& arguments);

}  // namespace wattle::controller
