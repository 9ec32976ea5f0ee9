#include "common/transport/resolver.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "common/clock.hpp"

namespace wattle::transport {

namespace {
constexpr Duration kRefreshEvery = std::chrono::seconds(1);
constexpr Duration kRetryMax = std::chrono::seconds(8);
}  // namespace

struct Resolver::State : std::enable_shared_from_this<State> {
  struct Entry {
    Answer answer;
    bool asking = false;
    MonoTime asked{};
    Duration retry_after = kRefreshEvery;  // after the last answer, if it had no addresses
  };

  std::mutex mutex;  // guards everything below
  std::condition_variable answered;
  std::map<HostPort, Entry> entries;
  SystemClock clock;  // for pauses between lookups

  // Call with the lock held.
  Entry& look_up_if_due(const HostPort& name) {
    Entry& entry = entries[name];
    const bool failed = entry.answer && entry.answer->all.empty();
    if (!entry.answer || (failed && clock.mono() - entry.asked >= entry.retry_after)) look_up(name, entry);
    return entry;
  }

  // Call with the lock held.
  void look_up(const HostPort& name, Entry& entry) {
    if (entry.asking) return;
    entry.asking = true;
    entry.asked = clock.mono();
    try {
      std::thread([self = shared_from_this(), name] { self->take(name, resolve_host(name.host, name.port)); }).detach();
    } catch (const std::system_error& error) {
      put(entry, {{}, std::string("cannot start a thread to resolve the name: ") + error.what()});
    }
  }

  void take(const HostPort& name, Result<std::vector<NetAddress>> found) {
    const std::lock_guard lock(mutex);
    put(entries[name], found ? Addresses{std::move(*found), {}} : Addresses{{}, found.error().message()});
  }

  // Call with the lock held. While no name server answers, keeps the old addresses.
  void put(Entry& entry, Addresses addresses) {
    entry.asking = false;
    if (!addresses.all.empty()) {
      entry.retry_after = kRefreshEvery;
    } else {
      if (entry.answer && entry.answer->all.empty()) entry.retry_after = std::min(2 * entry.retry_after, kRetryMax);
      if (entry.answer && !entry.answer->all.empty()) addresses.all = entry.answer->all;
    }
    entry.answer = std::make_shared<const Addresses>(std::move(addresses));
    answered.notify_all();
  }
};

Resolver::Resolver() : state_(std::make_shared<State>()) {}
Resolver::~Resolver() = default;

Resolver::Answer Resolver::latest(const HostPort& name) {
  const std::lock_guard lock(state_->mutex);
  return state_->look_up_if_due(name).answer;
}

void Resolver::refresh(const HostPort& name) {
  const std::lock_guard lock(state_->mutex);
  State::Entry& entry = state_->entries[name];
  if (state_->clock.mono() - entry.asked >= kRefreshEvery) state_->look_up(name, entry);
}

bool Resolver::wait(const HostPort& name, const Answer& known, std::chrono::milliseconds timeout) {
  const MonoTime until = state_->clock.mono() + timeout;
  std::unique_lock lock(state_->mutex);
  for (;;) {
    const State::Entry& entry = state_->look_up_if_due(name);
    if (entry.answer != known) return true;
    const MonoTime now = state_->clock.mono();
    if (now >= until) return false;
    const MonoTime wake = entry.asking ? until : std::min(until, entry.asked + entry.retry_after);
    state_->answered.wait_for(lock, std::max<Duration>(wake - now, std::chrono::milliseconds(1)));
  }
}

}  // namespace wattle::transport
