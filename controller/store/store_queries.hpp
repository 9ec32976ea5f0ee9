// store_queries: tracks queries that the store's thread answers, so that the loop does not wait for them.
// Errors   in the reply
// Threads  single owner
#pragma once

#include <future>
#include <string>
#include <vector>

#include "common/transport/rights.hpp"
#include "common/wire/messages.hpp"

namespace wattle::controller {

class StoreQueries {
 public:
  struct Done {
    std::string route;
    transport::Role role;
    wire::Reply reply;
  };
  // Registers a query. Its reply for `route` is in a later result of done().
  void take(std::string route, transport::Role role, std::uint64_t request_id,
            std::future<Result<std::string>> answer) {
    waiting_.push_back({std::move(route), role, request_id, std::move(answer)});
  }
  std::vector<Done> done();

 private:
  struct Waiting {
    std::string route;
    transport::Role role;
    std::uint64_t request_id = 0;
    std::future<Result<std::string>> answer;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace wattle::controller
