#include "controller/ingest/unsent.hpp"

#include <iterator>
#include <utility>

namespace wattle::controller {

using transport::Sent;

bool Unsent::send(const std::string& route, std::string bytes) {
  auto found = routes_.find(route);
  if (found == routes_.end()) {
    if (send_(route, bytes) != Sent::full) return true;
    found = routes_.try_emplace(route).first;
  }
  Route& waiting = found->second;
  if (!waiting.answers.empty() && waiting.bytes + bytes.size() > kMostBytes) return false;
  waiting.bytes += bytes.size();
  waiting.answers.push_back(std::move(bytes));
  return true;
}

void Unsent::flush() {
  for (auto each = routes_.begin(); each != routes_.end();)
    each = sent(each->first, each->second) ? routes_.erase(each) : std::next(each);
}

bool Unsent::sent(const std::string& to, Route& route) {
  while (!route.answers.empty()) {
    const Sent sent = send_(to, route.answers.front());
    if (sent == Sent::full) return false;
    if (sent == Sent::gone) return true;
    route.bytes -= route.answers.front().size();
    route.answers.pop_front();
  }
  return true;
}

}  // namespace wattle::controller
