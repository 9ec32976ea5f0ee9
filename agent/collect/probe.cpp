#include "agent/collect/probe.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "common/dir.hpp"

namespace wattle::agent {

namespace {
constexpr Duration kPeriod = std::chrono::seconds(1);
constexpr Duration kTimeout = std::chrono::seconds(1);
constexpr Duration kResolveAgain = std::chrono::seconds(60);
constexpr Duration kResolveRetry = std::chrono::seconds(10);

// The p-th part of sorted values, by nearest rank.
double quantile(const std::vector<double>& sorted, double p) {
  const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

std::optional<Address> resolve(const ProbeTarget& target) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  const std::string port = std::to_string(target.port);
  if (::getaddrinfo(target.host.c_str(), port.c_str(), &hints, &found) != 0 || found == nullptr) return std::nullopt;
  Address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

ProbeEnd end_of(int error_number) {
  if (error_number == 0) return ProbeEnd::answered;
  if (error_number == ECONNREFUSED || error_number == ECONNRESET) return ProbeEnd::refused;
  if (error_number == ETIMEDOUT) return ProbeEnd::timeout;
  return ProbeEnd::unreachable;
}
}  // namespace

std::string_view to_string(ProbeEnd end) {
  switch (end) {
    case ProbeEnd::answered:
      return "answered";
    case ProbeEnd::dns:
      return "dns";
    case ProbeEnd::refused:
      return "refused";
    case ProbeEnd::timeout:
      return "timeout";
    case ProbeEnd::unreachable:
      return "unreachable";
  }
  return "unknown";
}

void ProbeWindow::add(const ProbeResult& result) {
  ++counts_[static_cast<std::size_t>(result.end)];
  results_.push_back(result);
}

ProbeValues ProbeWindow::values(const std::string& target, MonoTime now) {
  while (!results_.empty() && now - results_.front().at > span_) results_.pop_front();
  ProbeValues values;
  values.target = target;
  values.sent = results_.size();
  sorted_.clear();
  double differences_ms = 0;
  std::optional<double> before_ms;
  for (const auto& result : results_) {
    if (result.end != ProbeEnd::answered) continue;
    if (before_ms) differences_ms += std::abs(result.round_trip_ms - *before_ms);
    before_ms = result.round_trip_ms;
    sorted_.push_back(result.round_trip_ms);
  }
  if (values.sent > 0)
    values.loss_ratio = static_cast<double>(values.sent - sorted_.size()) / static_cast<double>(values.sent);
  if (sorted_.empty()) return values;
  if (sorted_.size() > 1) values.jitter_ms = differences_ms / static_cast<double>(sorted_.size() - 1);
  std::sort(sorted_.begin(), sorted_.end());
  values.p50_ms = quantile(sorted_, 0.5);
  values.p95_ms = quantile(sorted_, 0.95);
  return values;
}

struct Prober::Impl {
  struct One {
    ProbeTarget target;
    ProbeWindow window;
    std::optional<Address> address;
    MonoTime resolve_at{};  // when to ask for the name again
    std::optional<ProbeEnd> told;
    Fd socket;
    MonoTime began{};
  };

  Impl(std::vector<ProbeTarget> targets, const Clock& c, const Log& l) : clock(c), log(l) {
    for (auto& target : targets) {
      One one;
      one.target = std::move(target);
      all.push_back(std::move(one));
    }
    if (all.size() > kMaxProbeTargets) all.resize(kMaxProbeTargets);
  }

  void end(One& one, ProbeEnd how) {
    const MonoTime now = clock.mono();
    one.socket = Fd();
    if (one.told != how) {  // each change once, not each failure
      const std::initializer_list<LogField> fields = {
          {"target", one.target.name}, {"host", one.target.host}, {"port", one.target.port}, {"end", to_string(how)}};
      how == ProbeEnd::answered ? log.info("probe.end", fields) : log.warn("probe.end", fields);
      one.told = how;
    }
    const std::lock_guard lock(mutex);
    one.window.add({now, how, seconds(now - one.began) * 1e3});
  }

  void begin(One& one) {
    if (!one.address) return end(one, ProbeEnd::dns);
    one.socket = Fd(::socket(one.address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!one.socket.valid()) return end(one, ProbeEnd::unreachable);
    one.began = clock.mono();
    const auto* address = reinterpret_cast<const sockaddr*>(&one.address->storage);
    if (::connect(one.socket.get(), address, one.address->length) == 0) return end(one, ProbeEnd::answered);
    if (errno != EINPROGRESS) end(one, end_of(errno));
  }

  const Clock& clock;
  const Log& log;
  std::vector<One> all;
  std::mutex mutex;  // guards the windows and `stopping`
  std::condition_variable wake;
  bool stopping = false;
  std::thread thread;
};

Prober::Prober(std::vector<ProbeTarget> targets, const Clock& clock, const Log& log)
    : impl_(std::make_unique<Impl>(std::move(targets), clock, log)) {}

Prober::~Prober() {
  if (!impl_->thread.joinable()) return;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  impl_->thread.join();
}

void Prober::round() {
  Impl& impl = *impl_;
  // Names first, with no connect under way: asking may block, and would be counted as latency.
  for (auto& one : impl.all) {
    if (impl.clock.mono() < one.resolve_at) continue;
    if (auto address = resolve(one.target)) one.address = *address;  // an old answer is better than none
    one.resolve_at = impl.clock.mono() + (one.address ? kResolveAgain : kResolveRetry);
  }
  for (auto& one : impl.all) impl.begin(one);
  const MonoTime deadline = impl.clock.mono() + kTimeout;
  std::vector<pollfd> waiting;
  std::vector<Impl::One*> whose;
  for (;;) {
    waiting.clear();
    whose.clear();
    for (auto& one : impl.all) {
      if (!one.socket.valid()) continue;
      waiting.push_back({one.socket.get(), POLLOUT, 0});
      whose.push_back(&one);
    }
    if (waiting.empty()) return;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - impl.clock.mono());
    const int ready = left.count() > 0 ? ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (ready > 0 && waiting[i].revents == 0) continue;
      int error_number = ETIMEDOUT;
      socklen_t size = sizeof error_number;
      if (ready > 0) ::getsockopt(waiting[i].fd, SOL_SOCKET, SO_ERROR, &error_number, &size);
      impl.end(*whose[i], end_of(error_number));
    }
  }
}

void Prober::start() {
  if (impl_->all.empty()) return;
  impl_->thread = std::thread([this, impl = impl_.get()] {
    MonoTime next = impl->clock.mono();
    for (;;) {
      round();
      next += kPeriod;
      const MonoTime now = impl->clock.mono();
      if (next < now) next = now;  // a slow name made us late; do not catch up in a burst
      std::unique_lock lock(impl->mutex);
      if (impl->wake.wait_for(lock, next - now, [&] { return impl->stopping; })) return;
    }
  });
}

std::vector<ProbeValues> Prober::values() {
  std::vector<ProbeValues> values;
  const std::lock_guard lock(impl_->mutex);
  for (auto& one : impl_->all) values.push_back(one.window.values(one.target.name, impl_->clock.mono()));
  return values;
}

std::vector<ProbeCounts> Prober::counts() {
  std::vector<ProbeCounts> counts;
  const std::lock_guard lock(impl_->mutex);
  for (const auto& one : impl_->all) counts.push_back({one.target.name, one.window.counts()});
  return counts;
}

}  // namespace wattle::agent
