#include "controller/store/store_queries.hpp"

#include <chrono>
#include <utility>

namespace wattle::controller {

std::vector<StoreQueries::Done> StoreQueries::done() {
  std::vector<Done> ready;
  std::vector<Waiting> still;
  for (Waiting& each : waiting_) {
    if (each.answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      still.push_back(std::move(each));
      continue;
    }
    auto answer = each.answer.get();
    wire::Reply reply;
    reply.request_id = each.request_id;
    reply.ok = answer.has_value();
    (reply.ok ? reply.body : reply.error) = reply.ok ? std::move(*answer) : answer.error().message();
    ready.push_back({std::move(each.route), each.role, std::move(reply)});
  }
  waiting_ = std::move(still);
  return ready;
}

}  // namespace wattle::controller
