// record_store: what ingest hands to a store, and the store as ingest sees it.
// Units    times are Unix seconds of the controller
// Threads  values; RecordStore belongs to one thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/outbox.hpp"
#include "common/sample.hpp"

namespace wattle::controller {

// Numbers of one incarnation that are not in the store, ends included.
struct StoreGap {
  std::string node;
  std::uint64_t incarnation = 0;
  std::uint64_t first_seq = 0, last_seq = 0;
  std::string why;
  std::int64_t noticed_s = 0;
  std::uint64_t records() const { return last_seq - first_seq + 1; }
  bool operator==(const StoreGap&) const = default;
};

// One record that a node sent, or without bytes a gap alone, which the mark ends.
struct StoreItem {
  std::string node;
  RecordMark mark;
  bool refused = false;         // out of range: kept as it came, not added up
  std::string bytes;            // as it came
  Record record;                // the same, for the ledger
  std::optional<StoreGap> gap;  // that ends before it
};

// By node, then by incarnation: the highest number taken.
using StoreMarks = std::map<std::string, std::map<std::uint64_t, std::uint64_t>>;
inline constexpr std::size_t kMarksPerNode = 16;  // incarnations that are told apart; those below the lowest are over

class RecordStore {
 public:
  virtual ~RecordStore() = default;
  // Too much waits: add nothing now.
  virtual bool full() const = 0;
  // Of a node the numbers rise within an incarnation.
  virtual void add(StoreItem item) = 0;
};

}  // namespace wattle::controller
