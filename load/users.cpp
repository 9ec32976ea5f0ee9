#include "load/users.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>  // before Asio, which uses std::exchange and does not include it

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <limits>
#include <memory>

namespace wattle::load {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint32_t kMostHeaderBytes = 64 << 10;
constexpr Duration kFirstConnection = std::chrono::seconds(5);
constexpr Duration kPauseAfterFailure = std::chrono::milliseconds(100);
constexpr rlim_t kOtherFiles = 64;

// Body that is counted and discarded.
struct Discarded {
  struct value_type {
    std::uint64_t bytes = 0;
  };
  class reader {
   public:
    template <bool kRequest, class Fields>
    reader(bhttp::header<kRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& error) {
      error = {};
      const std::size_t size = beast::buffer_bytes(buffers);
      body_.bytes += size;
      return size;
    }
    void finish(error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};
using Parser = bhttp::response_parser<Discarded>;

// A connection; in a closed loop also a user.
struct Link {
  explicit Link(asio::io_context& io) : pause(io) {}
  std::optional<beast::tcp_stream> stream;
  beast::flat_buffer buffer{kMostHeaderBytes + (128 << 10)};
  std::optional<Parser> parser;
  asio::steady_timer pause;
  MonoTime due, sent;
  bool kept = false;  // the connection has answered before
};

Failure failure_of(error_code error, bool connecting) {
  if (error == beast::error::timeout) return Failure::timeout;
  if (error == asio::error::connection_refused) return Failure::refused;
  if (connecting) return Failure::unreachable;
  static const error_code kSomeParseError = bhttp::make_error_code(bhttp::error::bad_version);
  const bool ended = error == bhttp::error::end_of_stream || error == bhttp::error::partial_message;
  return !ended && error.category() == kSomeParseError.category() ? Failure::malformed : Failure::closed;
}

Status allow_files(std::size_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fail_errno(errno, "open files");
  const rlim_t wanted = connections + kOtherFiles;
  if (limit.rlim_cur >= wanted) return {};
  if (limit.rlim_max < wanted)
    return fail(Errc::exhausted, std::to_string(connections) + " connections",
                "exceed the " + std::to_string(limit.rlim_max) + " files that this process may open",
                "raise the limit with ulimit -n, or use fewer connections or users");
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return fail_errno(errno, "open files");
  return {};
}

class UserRun {
 public:
  UserRun(const UserLoad& load, const Clock& clock, const std::function<void(const Progress&)>& report)
      : load_(load), clock_(clock), reported_(report), arrivals_(load.arrivals), random_(load.seed) {}

  // Resolves the name and connects once, so that a wrong address fails at once.
  Status reach();
  Result<Tally> run(StopSignal& stop);

 private:
  using Timer = asio::steady_timer;
  bool open_loop() const { return arrivals_.has_value(); }
  Duration since_start() const { return clock_.mono() - start_; }
  Link& new_link() { return *links_.emplace_back(std::make_unique<Link>(io_)); }

  void arrive();
  void serve();
  void think(Link& link, MonoTime since, Duration pause);
  void begin(Link& link, MonoTime due);
  void send(Link& link);
  void receive(Link& link);
  void answered(Link& link);
  void failed(Link& link, error_code error, bool connecting);
  void free(Link& link, MonoTime since, Duration pause);
  void count_failure(Failure why, Duration since_due);
  void each_second(MonoTime next);
  void end_if_done();

  const UserLoad& load_;
  const Clock& clock_;
  const std::function<void(const Progress&)>& reported_;
  std::optional<Arrivals> arrivals_;
  std::optional<Duration> next_;  // due time of the next request
  stats::Random random_;
  asio::io_context io_{1};
  tcp::resolver::results_type peer_;
  Timer arrival_{io_}, second_{io_};
  asio::posix::stream_descriptor signal_{io_};
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> idle_;       // the most recently used is taken first
  std::deque<MonoTime> waiting_;  // due times of requests without a connection
  std::size_t busy_ = 0;
  MonoTime start_;
  std::size_t gone_ = 0;  // users that have sent their last request
  bool over_ = false;     // no more requests become due
  bool stopped_ = false;
  Tally tally_;
  Progress progress_;
};

Status UserRun::reach() {
  const std::string url = load_.origin.url();
  error_code error;
  tcp::resolver resolver(io_);
  const auto found = resolver.resolve(load_.origin.host, std::to_string(load_.origin.port), error);
  if (error)
    return fail(Errc::not_found, url, "its name is unknown: " + error.message(), "use a host name that resolves");
  Link& link = new_link();
  // Later connections all use the first address that accepts one.
  for (const auto& entry : found) {
    link.stream.emplace(io_);
    link.stream->expires_after(std::min(load_.timeout, kFirstConnection));
    link.stream->async_connect(entry.endpoint(), [&error](error_code ended) { error = ended; });
    io_.run();
    io_.restart();
    peer_ = tcp::resolver::results_type::create(entry.endpoint(), entry.host_name(), entry.service_name());
    if (!error) break;
  }
  if (error)
    return fail(Errc::unavailable, url,
                error == beast::error::timeout ? "does not accept a connection in time"
                                               : "does not accept a connection: " + error.message(),
                "start the service, or use the address that it listens on");
  error_code ignored;
  link.stream->socket().set_option(tcp::no_delay(true), ignored);
  return {};
}

Result<Tally> UserRun::run(StopSignal& stop) {
  signal_.assign(::dup(stop.fd()));
  signal_.async_wait(asio::posix::stream_descriptor::wait_read, [this, &stop](error_code error) {
    if (error || !stop.pending()) return;
    stopped_ = true;
    io_.stop();
  });
  start_ = clock_.mono();
  if (reported_) each_second(start_ + std::chrono::seconds(1));
  if (open_loop()) {
    idle_.push_back(links_.front().get());
    next_ = arrivals_->next();
    arrive();
  } else {
    while (links_.size() < load_.closed.users) new_link();
    for (const auto& link : links_) think(*link, start_, {});
  }
  io_.run();
  tally_.lasted = since_start();
  tally_.offered = std::min(tally_.lasted, open_loop() ? arrivals_->length() : load_.closed.length);
  tally_.cut_off = stopped_ ? busy_ + waiting_.size() : 0;
  tally_.most_connections = links_.size();
  return std::move(tally_);
}

void UserRun::arrive() {
  const Duration now = since_start();
  for (; next_ && *next_ <= now; next_ = arrivals_->next()) {
    ++tally_.due;
    ++progress_.due;
    if (waiting_.size() < load_.most_waiting)
      waiting_.push_back(start_ + *next_);
    else
      count_failure(Failure::unsent, {});
  }
  serve();
  over_ = !next_ && now >= arrivals_->length();
  if (over_) return end_if_done();
  arrival_.expires_after((next_ ? *next_ : arrivals_->length()) - since_start());
  arrival_.async_wait([this](error_code error) {
    if (!error) arrive();
  });
}

// Gives free connections to the requests that have waited longest.
void UserRun::serve() {
  while (!waiting_.empty()) {
    if (const Duration waited = clock_.mono() - waiting_.front(); waited >= load_.timeout) {
      tally_.waited.add(waited);
      count_failure(Failure::timeout, waited);
      waiting_.pop_front();
      continue;
    }
    if (idle_.empty() && links_.size() >= load_.most_connections) return;
    Link* link = nullptr;
    if (idle_.empty()) {
      link = &new_link();
    } else {
      link = idle_.back();
      idle_.pop_back();
    }
    const MonoTime due = waiting_.front();
    waiting_.pop_front();
    begin(*link, due);
  }
}

void UserRun::think(Link& link, MonoTime since, Duration pause) {
  const ClosedLoop& closed = load_.closed;
  const Duration thought =
      closed.spacing == Spacing::even ? closed.think : from_seconds(stats::exponential(random_, seconds(closed.think)));
  link.due = since + thought + pause;
  if (link.due - start_ >= closed.length) {
    // A finished user waits until the end, because the run lasts for its full length.
    link.pause.expires_after(closed.length - since_start());
    link.pause.async_wait([this](error_code) {
      if (++gone_ == links_.size()) io_.stop();
    });
    link.stream.reset();
    return;
  }
  link.pause.expires_after(link.due - clock_.mono());
  link.pause.async_wait([this, &link](error_code error) {
    if (error) return;
    ++tally_.due;
    ++progress_.due;
    begin(link, link.due);
  });
}

void UserRun::begin(Link& link, MonoTime due) {
  ++busy_;
  link.due = due;
  const Duration left = load_.timeout - (clock_.mono() - due);
  if (link.stream) {
    link.stream->expires_after(left);
    return send(link);
  }
  link.buffer.clear();
  link.kept = false;
  link.stream.emplace(io_);
  link.stream->expires_after(left);
  link.stream->async_connect(peer_, [this, &link](error_code error, const tcp::endpoint&) {
    if (error) return failed(link, error, true);
    link.stream->socket().set_option(tcp::no_delay(true), error);
    send(link);
  });
}

void UserRun::send(Link& link) {
  link.sent = clock_.mono();
  link.parser.emplace();
  asio::async_write(*link.stream, asio::buffer(load_.request), [this, &link](error_code error, std::size_t) {
    if (error) return failed(link, error, false);
    receive(link);
  });
}

void UserRun::receive(Link& link) {
  link.parser->header_limit(kMostHeaderBytes);
  link.parser->body_limit(std::numeric_limits<std::uint64_t>::max());
  link.parser->skip(load_.bodiless);
  bhttp::async_read(*link.stream, link.buffer, *link.parser, [this, &link](error_code error, std::size_t) {
    if (error) return failed(link, error, false);
    // The answer follows 100 Continue and other 1xx responses.
    if (const unsigned status = link.parser->get().result_int(); status >= 100 && status < 200 && status != 101) {
      link.parser.emplace();
      return receive(link);
    }
    answered(link);
  });
}

void UserRun::answered(Link& link) {
  const MonoTime now = clock_.mono();
  ++tally_.answered;
  ++progress_.answered;
  ++tally_.by_status[static_cast<int>(link.parser->get().result_int())];
  tally_.body_bytes += link.parser->get().body().bytes;
  tally_.latency.add(now - link.due);
  tally_.waited.add(link.sent - link.due);
  tally_.answering.add(now - link.sent);
  progress_.latency.add(now - link.due);
  link.kept = true;
  // Unrequested bytes belong to no request, so the connection is dropped.
  if (!link.parser->keep_alive() || link.buffer.size() > 0) link.stream.reset();
  free(link, now, {});
}

void UserRun::failed(Link& link, error_code error, bool connecting) {
  const bool silent = link.buffer.size() == 0 && !(link.parser && link.parser->got_some());
  link.stream.reset();
  // Retries once on a new connection if the peer closed the kept one before it saw this request.
  if (link.kept && silent && error != beast::error::timeout && clock_.mono() - link.due < load_.timeout) {
    ++tally_.reconnected;
    --busy_;
    return begin(link, link.due);
  }
  const Failure why = failure_of(error, connecting);
  const MonoTime now = clock_.mono();
  count_failure(why, now - link.due);
  if (connecting) {
    if (why == Failure::timeout) tally_.waited.add(now - link.due);
  } else {
    tally_.waited.add(link.sent - link.due);
    tally_.answering.add(now - link.sent);
  }
  free(link, now, why == Failure::timeout ? Duration{} : kPauseAfterFailure);
}

void UserRun::count_failure(Failure why, Duration since_due) {
  tally_.fail(why);
  ++progress_.failed;
  if (why != Failure::timeout) return;
  // An answer would have taken at least the timeout.
  tally_.latency.add(std::max(since_due, load_.timeout));
  progress_.latency.add(std::max(since_due, load_.timeout));
}

void UserRun::free(Link& link, MonoTime since, Duration pause) {
  --busy_;
  if (!open_loop()) return think(link, since, pause);
  idle_.push_back(&link);
  serve();
  end_if_done();
}

void UserRun::each_second(MonoTime next) {
  second_.expires_after(next - clock_.mono());
  second_.async_wait([this, next](error_code error) {
    if (error) return;
    progress_.since_start = since_start();
    progress_.under_way = busy_;
    progress_.waiting = waiting_.size();
    reported_(progress_);
    progress_ = {};
    each_second(next + std::chrono::seconds(1));
  });
}

void UserRun::end_if_done() {
  if (over_ && busy_ == 0 && waiting_.empty()) io_.stop();
}

}  // namespace

Result<Tally> apply_users(const UserLoad& load, const Clock& clock, StopSignal& stop,
                          const std::function<void(const Progress&)>& report) {
  WATTLE_CHECK(allow_files(load.arrivals ? load.most_connections : load.closed.users));
  try {
    UserRun run(load, clock, report);
    WATTLE_CHECK(run.reach());
    return run.run(stop);
  } catch (const std::exception& error) {
    return fail(Errc::io, load.origin.url(), error.what());
  }
}

}  // namespace wattle::load
