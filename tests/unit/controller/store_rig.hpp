// store_rig: items for a store, and ways to wait for its writer.
#pragma once

#include <doctest/doctest.h>
#include <poll.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/codec.hpp"
#include "controller/store/store.hpp"
#include "tests/unit/controller/helpers.hpp"

namespace wattle::controller::test {

inline StoreItem item(const std::string& node, std::uint64_t seq, std::vector<WorkloadValues> workloads = {},
                      std::uint64_t incarnation = 1) {
  StoreItem made;
  made.node = node;
  made.mark = {incarnation, seq};
  made.record = record_at(seq, incarnation);
  made.record.workloads = std::move(workloads);
  made.bytes = wire::encode_record(made.record);
  return made;
}

inline StoreFile open(const StoreFileOptions& options) {
  auto file = StoreFile::open_(options);
  if (!file) FAIL(file.error().message());
  return std::move(*file);
}

// Waits for the writer; a test's longest operation is one transaction.
inline std::vector<Committed> wait_for(Store& store, std::size_t records) {
  std::vector<Committed> all;
  std::size_t have = 0;
  while (have < records) {
    pollfd ready{store.fd(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 30'000) == 1);
    for (Committed& news : store.committed()) {
      have += news.records;
      all.push_back(std::move(news));
    }
  }
  return all;
}

inline StoreFigures until(const Store& store, const std::function<bool(const StoreFigures&)>& done) {
  for (;;) {
    const StoreFigures figures = store.figures();
    if (done(figures)) return figures;
    ::poll(nullptr, 0, 2);
  }
}

}  // namespace wattle::controller::test
