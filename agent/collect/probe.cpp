#include "agent/collect/probe.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "agent/collect/names.hpp"
#include "agent/collect/probe_http.hpp"
#include "agent/collect/probe_icmp.hpp"
#include "common/dir.hpp"

namespace wattle::agent {

namespace {
constexpr Duration kAskAgain = std::chrono::seconds(60);
constexpr Duration kAskAgainFailed = std::chrono::seconds(10);
// Delay between the first probes of two targets, so that they do not delay each other on our own processor.
constexpr Duration kSpread = std::chrono::milliseconds(5);
constexpr std::size_t kMaxAddresses = 16;
constexpr MonoTime kNever = MonoTime::max();

ProbeEnd end_of(int error_number) {
  if (error_number == 0) return ProbeEnd::answered;
  if (error_number == ECONNREFUSED || error_number == ECONNRESET) return ProbeEnd::refused;
  if (error_number == ETIMEDOUT) return ProbeEnd::timeout;
  return ProbeEnd::unreachable;
}

// Failures of this machine, not of the target.
bool our_own_fault(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS || error_number == ENOMEM;
}

int pending_error(int socket) {
  int error_number = 0;
  socklen_t size = sizeof error_number;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error_number, &size) != 0) return errno;
  return error_number;
}

enum class Phase : std::uint8_t { idle, naming, connecting, answering, draining };

struct One {
  ProbeTarget target;
  ProbeWindow window;
  std::vector<NetAddress> addresses;
  std::size_t at = 0;     // the probed address, kept while it answers
  std::size_t tried = 0;  // failed attempts of this probe
  bool in_digits = false, asking = false;
  MonoTime ask_at{};  // when to resolve the name again
  Phase phase = Phase::idle;
  MonoTime due = kNever, began{}, deadline{};
  Fd socket;                     // tcp, http
  std::optional<Pinger> pinger;  // icmp
  Error pinger_lost;             // why `pinger` is unset
  std::string answer;
  std::size_t drained = 0;
  std::optional<ProbeEnd> reported;
  bool unable = false;

  bool under_way() const { return phase != Phase::idle && phase != Phase::draining; }
};
}  // namespace

struct Prober::Impl {
  Impl(const Clock& c, const Log& l, Names n, Fd s)
      : clock(c),
        log(l),
        names(std::move(n)),
        stop(std::move(s)),
        random(static_cast<std::uint64_t>(to_ns(c.mono()))) {}
  ~Impl() {
    if (!thread.joinable()) return;
    const std::uint64_t one = 1;
    while (::write(stop.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread.join();
  }

  void add(ProbeTarget target);
  void begin(One& one);
  void send_out(One& one);
  void ping(One& one);
  void progress(One& one);
  void connected(One& one);
  void read_answer(One& one);
  void drain(One& one);
  void expire(One& one);
  bool next_address(One& one, ProbeEnd how);
  void end(One& one, ProbeEnd how);
  void unable(One& one, const std::string& why);
  void keep(One& one, std::vector<NetAddress> addresses);
  void take_names();
  Duration about(Duration span);
  // One turn of the loop: begins and ends what is due, then waits for the next event. False once a stop was requested.
  bool turn();

  const Clock& clock;
  const Log& log;
  Names names;
  Fd stop;
  std::mt19937_64 random;
  std::vector<One> all;
  std::vector<pollfd> waiting;
  std::vector<One*> whose;
  bool once = false;
  std::mutex mutex;  // guards the windows
  std::thread thread;
};

void Prober::Impl::add(ProbeTarget target) {
  One one;
  one.target = std::move(target);
  if (const auto address = numeric_address(one.target.host, one.target.port)) one.addresses = {*address};
  one.in_digits = !one.addresses.empty();
  if (one.target.kind == ProbeKind::icmp) {
    auto pinger = Pinger::open_(static_cast<std::uint16_t>(random()));
    if (pinger)
      one.pinger = std::move(*pinger);
    else
      one.pinger_lost = pinger.error();
  }
  all.push_back(std::move(one));
}

// Varies the span by a tenth, so that targets that started together spread out.
Duration Prober::Impl::about(Duration span) {
  const Duration tenth = span / 10;
  return span - tenth + Duration(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * tenth.count())));
}

void Prober::Impl::unable(One& one, const std::string& why) {
  one.phase = Phase::idle;
  one.socket = Fd();
  if (!std::exchange(one.unable, true))
    log.error("probe.unable", "a latency probe cannot run", {{"target", one.target.name}, {"why", why}});
}

// Tries the next address within the same probe if this one accepted no connection. If there is no time left, the next
// probe starts with the next address.
bool Prober::Impl::next_address(One& one, ProbeEnd how) {
  if (one.addresses.size() < 2 ||
      (how != ProbeEnd::refused && how != ProbeEnd::unreachable && how != ProbeEnd::timeout))
    return false;
  one.at = (one.at + 1) % one.addresses.size();
  if (how == ProbeEnd::timeout || ++one.tried >= one.addresses.size()) return false;
  one.socket = Fd();
  send_out(one);
  return true;
}

void Prober::Impl::end(One& one, ProbeEnd how) {
  if (next_address(one, how)) return;
  const ProbeResult result = judge(one.began, clock.mono(), one.target.timeout, how);
  one.phase = Phase::idle;
  if (one.reported != result.end) {  // logs each change once, not each failure
    const std::initializer_list<LogField> fields = {{"target", one.target.name},
                                                    {"kind", to_string(one.target.kind)},
                                                    {"host", one.target.host},
                                                    {"port", one.target.port},
                                                    {"end", to_string(result.end)}};
    result.end == ProbeEnd::answered ? log.info("probe.end", "the state of a latency probe has changed", fields)
                                     : log.warn("probe.end", "the state of a latency probe has changed", fields);
    one.reported = result.end;
  }
  one.unable = false;
  if (how == ProbeEnd::answered && one.target.kind == ProbeKind::http) {
    one.phase = Phase::draining;  // closing with unread data would reset the connection
    one.drained = 0;
  } else {
    one.socket = Fd();
  }
  const std::lock_guard lock(mutex);
  one.window.add(result);
}

void Prober::Impl::begin(One& one) {
  const MonoTime now = clock.mono();
  one.due = once ? kNever : next_due(one.due, one.target.interval, now);
  one.socket = Fd();
  one.phase = Phase::idle;
  if (!one.in_digits && !one.asking && now >= one.ask_at) {
    names.ask(static_cast<std::size_t>(&one - all.data()), one.target.host, one.target.port,
              one.addresses.empty() && one.reported == ProbeEnd::dns);
    one.asking = true;
  }
  one.began = now;
  one.deadline = now + one.target.timeout;
  one.tried = 0;
  if (!one.addresses.empty()) return send_out(one);
  one.phase = Phase::naming;
  if (!one.asking) end(one, ProbeEnd::dns);  // a recent query did not find it
}

void Prober::Impl::send_out(One& one) {
  one.began = clock.mono();
  one.deadline = one.began + one.target.timeout;
  if (one.target.kind == ProbeKind::icmp) return ping(one);
  one.socket = Fd(::socket(one.addresses[one.at].storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!one.socket.valid())
    return our_own_fault(errno) ? unable(one, std::strerror(errno)) : end(one, ProbeEnd::unreachable);
  one.phase = Phase::connecting;
  if (::connect(one.socket.get(), one.addresses[one.at].get(), one.addresses[one.at].length) == 0)
    return connected(one);
  if (errno != EINPROGRESS) end(one, end_of(errno));
}

void Prober::Impl::ping(One& one) {
  if (!one.pinger) return unable(one, one.pinger_lost.message());
  one.phase = Phase::answering;
  const int error_number = one.pinger->send(one.addresses[one.at], random());
  if (error_number == 0) return;
  our_own_fault(error_number) ? unable(one, std::strerror(error_number)) : end(one, end_of(error_number));
}

void Prober::Impl::connected(One& one) {
  if (one.target.kind == ProbeKind::tcp) return end(one, ProbeEnd::answered);
  const std::string request = http_request(one.target.host, one.target.port, one.target.path);
  // Smaller than the buffer of any new connection, so it is sent whole or not sent.
  if (::send(one.socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
    return end(one, errno == ECONNRESET || errno == EPIPE ? ProbeEnd::bad_answer : end_of(errno));
  one.answer.clear();
  one.phase = Phase::answering;
}

void Prober::Impl::read_answer(One& one) {
  std::array<char, 4096> chunk;
  const ssize_t n = ::recv(one.socket.get(), chunk.data(), chunk.size(), 0);
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    return end(one, errno == ECONNRESET ? ProbeEnd::bad_answer : end_of(errno));
  }
  if (n == 0) return end(one, ProbeEnd::bad_answer);
  one.answer.append(chunk.data(), static_cast<std::size_t>(n));
  switch (judge_http_answer(one.answer)) {
    case HttpAnswer::incomplete:
      return;
    case HttpAnswer::good:
      return end(one, ProbeEnd::answered);
    case HttpAnswer::bad:
      return end(one, ProbeEnd::bad_answer);
  }
}

void Prober::Impl::drain(One& one) {
  std::array<char, 4096> chunk;
  const ssize_t n = ::recv(one.socket.get(), chunk.data(), chunk.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0 && (one.drained += static_cast<std::size_t>(n)) < kMaxAnswerRead) return;
  one.socket = Fd();
  one.phase = Phase::idle;
}

void Prober::Impl::progress(One& one) {
  if (one.target.kind == ProbeKind::icmp) {
    if (const auto reported = one.pinger->receive()) end(one, end_of(*reported));
    return;
  }
  if (one.phase == Phase::answering) return read_answer(one);
  if (one.phase == Phase::draining) return drain(one);
  const int error_number = pending_error(one.socket.get());
  error_number == 0 ? connected(one) : end(one, end_of(error_number));
}

void Prober::Impl::expire(One& one) {
  if (one.phase == Phase::draining) {
    one.socket = Fd();
    one.phase = Phase::idle;
  } else {
    end(one, one.phase == Phase::naming ? ProbeEnd::dns : ProbeEnd::timeout);
  }
}

// Keeps the probed address if it is still one of the name's.
void Prober::Impl::keep(One& one, std::vector<NetAddress> addresses) {
  if (addresses.size() > kMaxAddresses) addresses.resize(kMaxAddresses);
  const auto same =
      one.addresses.empty() ? addresses.end() : std::find(addresses.begin(), addresses.end(), one.addresses[one.at]);
  one.at = same == addresses.end() ? 0 : static_cast<std::size_t>(same - addresses.begin());
  one.addresses = std::move(addresses);
}

void Prober::Impl::take_names() {
  for (auto& answer : names.take()) {
    One& one = all[answer.id];
    one.asking = false;
    // Keeps the old addresses while the name cannot be resolved; a name that no longer exists has none.
    const bool found = !answer.addresses.empty();
    if (found || answer.known) keep(one, std::move(answer.addresses));
    one.ask_at = clock.mono() + about(found ? kAskAgain : kAskAgainFailed);
    if (one.phase != Phase::naming) continue;
    one.addresses.empty() ? end(one, ProbeEnd::dns) : send_out(one);
  }
}

bool Prober::Impl::turn() {
  MonoTime now = clock.mono(), next = kNever;
  waiting.assign({{stop.get(), POLLIN, 0}, {names.fd(), POLLIN, 0}});
  whose.clear();
  for (auto& one : all) {
    if (one.phase != Phase::idle && now >= one.deadline) expire(one);
    if (!one.under_way() && now >= one.due) begin(one);
    if (one.phase == Phase::idle || one.phase == Phase::draining) next = std::min(next, one.due);
    if (one.phase == Phase::idle) continue;
    next = std::min(next, one.deadline);
    if (one.phase == Phase::naming) continue;
    const int socket = one.target.kind == ProbeKind::icmp ? one.pinger->fd() : one.socket.get();
    waiting.push_back({socket, static_cast<short>(one.phase == Phase::connecting ? POLLOUT : POLLIN), 0});
    whose.push_back(&one);
  }
  if (once && std::none_of(all.begin(), all.end(), [](const One& one) { return one.under_way(); })) return false;
  now = clock.mono();
  const Duration left = std::max(next - now, Duration{});
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec span{whole.count(), (left - whole).count()};
  if (::ppoll(waiting.data(), waiting.size(), next == kNever ? nullptr : &span, nullptr) <= 0) return true;
  if (waiting[0].revents != 0) return false;
  for (std::size_t i = 0; i < whose.size(); ++i)
    if (waiting[i + 2].revents != 0) progress(*whose[i]);
  if (waiting[1].revents != 0) take_names();
  return true;
}

Prober::Prober(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Prober::Prober(Prober&&) noexcept = default;
Prober::~Prober() = default;

Result<Prober> Prober::open_(std::vector<ProbeTarget> targets, const Clock& clock, const Log& log) {
  WATTLE_TRY(auto names, Names::start());
  Fd stop(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!stop.valid()) return fail_errno(errno, "eventfd");
  auto impl = std::make_unique<Impl>(clock, log, std::move(names), std::move(stop));
  if (targets.size() > kMaxProbeTargets) targets.resize(kMaxProbeTargets);
  for (auto& target : targets) impl->add(std::move(target));
  return Prober(std::move(impl));
}

void Prober::round() {
  impl_->once = true;
  for (auto& one : impl_->all) one.due = impl_->clock.mono();
  while (impl_->turn()) {
  }
}

void Prober::start() {
  if (impl_->all.empty()) return;
  MonoTime due = impl_->clock.mono();
  for (auto& one : impl_->all) one.due = std::exchange(due, due + kSpread);
  impl_->thread = std::thread([impl = impl_.get()] {
    while (impl->turn()) {
    }
  });
}

std::vector<ProbeValues> Prober::values() {
  std::vector<ProbeValues> values;
  const std::lock_guard lock(impl_->mutex);
  for (auto& one : impl_->all)
    values.push_back(one.window.values(one.target.name, one.target.kind, impl_->clock.mono()));
  return values;
}

std::vector<ProbeCounts> Prober::counts() {
  std::vector<ProbeCounts> counts;
  const std::lock_guard lock(impl_->mutex);
  for (const auto& one : impl_->all) counts.push_back({one.target.name, one.window.counts(), one.window.round_trips()});
  return counts;
}

}  // namespace wattle::agent
