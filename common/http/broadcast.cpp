#include "common/http/broadcast.hpp"

#include <algorithm>
#include <vector>

namespace wattle::http {

void Broadcast::publish(std::string_view event, std::string_view data) {
  auto text = std::make_shared<std::string>();
  text->reserve(event.size() + data.size() + 16);
  text->append("event: ").append(event).append("\ndata: ").append(data).append("\n\n");
  std::vector<std::shared_ptr<Subscriber>> all;  // released outside the lock, because a Session's destructor takes it
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, seat] : seats_)
      if (auto alive = seat.who.lock()) all.push_back(std::move(alive));
  }
  for (const auto& listener : all) listener->on_event(text);
}

std::size_t Broadcast::listeners() const {
  const std::lock_guard lock(mutex_);
  return seats_.size();
}

std::uint64_t Broadcast::joined() const {
  const std::lock_guard lock(mutex_);
  return joined_;
}

std::uint64_t Broadcast::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

bool Broadcast::join(const std::shared_ptr<Subscriber>& who, const Source& from) {
  const std::lock_guard lock(mutex_);
  const auto same = std::count_if(seats_.begin(), seats_.end(),
                                  [&](const auto& item) { return item.second.from.network == from.network; });
  if (seats_.size() >= options_.listeners) return false;
  if (!from.loopback && static_cast<std::size_t>(same) >= options_.per_source) return false;
  seats_.insert_or_assign(who.get(), Seat{who, from});
  ++joined_;
  return true;
}

void Broadcast::leave(const Subscriber* who, bool dropped) {
  const std::lock_guard lock(mutex_);
  seats_.erase(who);
  dropped_ += dropped ? 1 : 0;
}

}  // namespace wattle::http
