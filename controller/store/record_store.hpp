// record_store: the interface between ingest and the store.
// Units    times are Unix seconds of the controller
// Threads  values; RecordStore belongs to one thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "common/outbox.hpp"
#include "common/sample.hpp"

namespace wattle::controller {

// Missing record numbers of one incarnation, both ends included.
struct StoreGap {
  std::string node;
  std::uint64_t incarnation = 0;
  std::uint64_t first_seq = 0, last_seq = 0;
  std::string why;
  std::int64_t noticed_s = 0;
  std::uint64_t records() const { return last_seq - first_seq + 1; }
  bool operator==(const StoreGap&) const = default;
};

// A record of a node. Without bytes it is only a gap, which ends at the mark.
struct StoreItem {
  std::string node;
  RecordMark mark;
  bool refused = false;         // out of range: stored as received, not added to sums
  std::string bytes;            // as received
  Record record;                // decoded, for the ledger
  std::optional<StoreGap> gap;  // gap that ends before this record
};

// Highest number stored, by node and incarnation.
using StoreMarks = std::unordered_map<std::string, std::map<std::uint64_t, std::uint64_t>>;
inline constexpr std::size_t kMarksPerNode = 16;  // latest incarnations; lower ones are considered finished

class RecordStore {
 public:
  virtual ~RecordStore() = default;
  // Returns true if too much waits; the caller must then not add.
  virtual bool full() const = 0;
  // Call with increasing numbers per node and incarnation.
  virtual void add(StoreItem item) = 0;
};

}  // namespace wattle::controller
