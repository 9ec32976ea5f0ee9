#include "common/http/server.hpp"

#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "common/http/target.hpp"

namespace wattle::http {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;

// How long a closing connection may still send what we do not read, so that our answer is not lost to a reset.
constexpr std::chrono::milliseconds kLinger{1000};
// How long the destructor waits for open answers.
constexpr std::chrono::milliseconds kStopPatience{2000};

Response plain(int status, std::string text) { return {status, "text/plain; charset=utf-8", std::move(text) + "\n"}; }

struct Shared;

// One connection: a strand, one timer and a chain of callbacks. Keeps itself alive through them.
class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(Shared& shared, tcp::socket socket)
      : shared_(shared), socket_(std::move(socket)), timer_(socket_.get_executor()) {}
  ~Session();
  void start();
  void stop();  // ends now when idle, else after the answer that is under way

 private:
  void run_start();
  void await_request();
  void read_header();
  void read_body();
  void on_read(error_code error, bool header);
  void answer();
  void send(Response response, bool keep, std::string allow = {});
  void on_written(error_code error);
  void close_slowly();
  void drain();
  void close();
  void limit(std::chrono::milliseconds span);
  void unlimit();

  Shared& shared_;
  tcp::socket socket_;
  net::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  std::optional<bhttp::response<bhttp::string_body>> response_;
  std::optional<bhttp::response<bhttp::empty_body>> bare_;
  std::array<char, 4096> discard_{};
  std::uint64_t generation_ = 0;
  bool idle_ = false;
  bool stopping_ = false;
  bool timed_out_ = false;
  bool keep_ = true;
};

struct Shared {
  Shared(const ServerOptions& o, std::map<std::string, Handler> r, const Log& l)
      : options(o), routes(std::move(r)), log(l), acceptor(net::make_strand(io)), retry(acceptor.get_executor()) {}

  const ServerOptions options;
  const std::map<std::string, Handler> routes;
  const Log& log;

  std::mutex mutex;
  std::condition_variable emptied;
  std::set<Session*> sessions;
  std::atomic<bool> stopping = false;

  // Behind what sessions use: handlers that are left when it is destroyed still own sessions.
  net::io_context io;
  tcp::acceptor acceptor;
  net::steady_timer retry;

  void accept();
  void on_accept(error_code error, tcp::socket socket);
  // The handler of a method and path; else `allow` gets the methods that the path has.
  const Handler* find(const std::string& method, const std::string& path, std::string& allow) const;
};

Session::~Session() {
  const std::lock_guard lock(shared_.mutex);
  shared_.sessions.erase(this);
  if (shared_.sessions.empty()) shared_.emptied.notify_all();
}

void Session::start() {
  net::dispatch(socket_.get_executor(), [self = shared_from_this()] { self->run_start(); });
}

void Session::run_start() {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  await_request();
}

void Session::stop() {
  net::post(socket_.get_executor(), [self = shared_from_this()] {
    self->stopping_ = true;
    if (self->idle_) self->close();
  });
}

// Ends the read or write that is under way when the span is over.
void Session::limit(std::chrono::milliseconds span) {
  timed_out_ = false;
  timer_.expires_after(span);
  timer_.async_wait([weak = weak_from_this(), generation = ++generation_](error_code error) {
    if (error) return;
    // A wait that had ended before it was replaced or cancelled is still delivered: the generation tells.
    if (const auto self = weak.lock(); self && self->generation_ == generation) {
      self->timed_out_ = true;
      error_code ignored;
      self->socket_.cancel(ignored);
    }
  });
}

void Session::unlimit() {
  ++generation_;
  timer_.cancel();
}

void Session::await_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(shared_.options.max_header_bytes));
  parser_->body_limit(shared_.options.max_body_bytes);
  if (buffer_.size() > 0) return read_header();
  if (stopping_ || shared_.stopping) return close();
  idle_ = true;
  limit(shared_.options.idle_timeout);
  socket_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](error_code error, std::size_t count) {
    self->idle_ = false;
    if (error) return self->close();
    self->buffer_.commit(count);
    self->read_header();
  });
}

void Session::read_header() {
  limit(shared_.options.request_timeout);
  bhttp::async_read_header(socket_, buffer_, *parser_,
                           [self = shared_from_this()](error_code error, std::size_t) { self->on_read(error, true); });
}

void Session::read_body() {
  bhttp::async_read(socket_, buffer_, *parser_,
                    [self = shared_from_this()](error_code error, std::size_t) { self->on_read(error, false); });
}

void Session::on_read(error_code error, bool header) {
  const auto& options = shared_.options;
  if (timed_out_)
    return send(
        plain(408, "the request did not arrive within " + std::to_string(options.request_timeout.count()) + " ms"),
        false);
  if (error == bhttp::error::header_limit)
    return send(plain(431, "the header is larger than " + std::to_string(options.max_header_bytes) + " bytes"), false);
  if (error == bhttp::error::body_limit)
    return send(plain(413, "the body is larger than " + std::to_string(options.max_body_bytes) + " bytes"), false);
  if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category() &&
      error != bhttp::error::end_of_stream && error != bhttp::error::partial_message)
    return send(plain(400, "not an HTTP request: " + error.message()), false);
  if (error) return close();
  if (!header || parser_->is_done()) return answer();
  if (!beast::iequals(parser_->get()[bhttp::field::expect], "100-continue")) return read_body();
  bare_.emplace(bhttp::status::continue_, 11);
  bhttp::async_write(socket_, *bare_, [self = shared_from_this()](error_code failed, std::size_t) {
    if (failed) return self->close();
    self->read_body();
  });
}

void Session::answer() {
  unlimit();
  const auto& message = parser_->get();
  const std::string method(message.method_string());
  auto target = parse_target(std::string_view(message.target().data(), message.target().size()));
  if (!target) return send(plain(400, target.error().message()), false);

  std::string allow;
  const Handler* handler = shared_.find(method, target->path, allow);
  if (handler == nullptr && !allow.empty())
    return send(plain(405, target->path + " does not answer " + method + "; it answers " + allow), true, allow);
  if (handler == nullptr) return send(plain(404, "nothing is at " + target->path), true);

  Request request{method, std::move(target->path), std::move(target->query), std::move(parser_->get().body())};
  Response response;
  try {
    response = (*handler)(request);
  } catch (const std::exception& error) {
    shared_.log.error("http handler failed", {{"method", method}, {"path", request.path}, {"what", error.what()}});
    response = plain(500, request.path + " failed; the log says why");
  }
  send(std::move(response), true);
}

void Session::send(Response response, bool keep, std::string allow) {
  const auto& message = parser_->get();
  const bool got_header = parser_->is_header_done();
  keep_ = keep && message.keep_alive() && !stopping_ && !shared_.stopping;
  const auto fill = [&](auto& out) {
    out.result(static_cast<unsigned>(response.status));
    out.version(got_header ? message.version() : 11);
    out.set(bhttp::field::content_type, response.content_type);
    if (!allow.empty()) out.set(bhttp::field::allow, allow);
    out.content_length(response.body.size());
    out.keep_alive(keep_);
  };
  limit(shared_.options.request_timeout);
  const auto done = [self = shared_from_this()](error_code error, std::size_t) { self->on_written(error); };
  if (got_header && message.method() == bhttp::verb::head) {
    bare_.emplace();
    fill(*bare_);
    return bhttp::async_write(socket_, *bare_, done);
  }
  response_.emplace();
  fill(*response_);
  response_->body() = std::move(response.body);
  bhttp::async_write(socket_, *response_, done);
}

void Session::on_written(error_code error) {
  unlimit();
  response_.reset();
  bare_.reset();
  if (error) return close();
  if (!keep_) return close_slowly();
  await_request();
}

void Session::close_slowly() {
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  if (error) return close();
  idle_ = true;
  limit(kLinger);
  drain();
}

void Session::drain() {
  socket_.async_read_some(net::buffer(discard_), [self = shared_from_this()](error_code error, std::size_t) {
    if (error || self->timed_out_) return self->close();
    self->drain();
  });
}

void Session::close() {
  unlimit();
  error_code ignored;
  socket_.close(ignored);
}

void Shared::accept() {
  acceptor.async_accept(net::make_strand(io),
                        [this](error_code error, tcp::socket socket) { on_accept(error, std::move(socket)); });
}

void Shared::on_accept(error_code error, tcp::socket socket) {
  if (stopping || error == net::error::operation_aborted) return;
  if (error) {
    // Out of descriptors, most likely: trying again at once would only burn the processor.
    log.warn("http accept failed", {{"what", error.message()}});
    retry.expires_after(std::chrono::milliseconds(100));
    retry.async_wait([this](error_code stopped) {
      if (!stopped) accept();
    });
    return;
  }
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(mutex);
    if (sessions.size() < options.max_connections) {
      session = std::make_shared<Session>(*this, std::move(socket));
      sessions.insert(session.get());
    }
  }
  if (session) {
    session->start();
  } else {
    static constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n"
        "Connection: close\r\n\r\ntoo many connections\n";
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(net::buffer(kFull.data(), kFull.size()), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
  }
  accept();
}

const Handler* Shared::find(const std::string& method, const std::string& path, std::string& allow) const {
  const std::string wanted = method == "HEAD" ? "GET" : method;
  const Handler* best = nullptr;
  std::size_t best_length = 0;
  for (const auto& [route, handler] : routes) {
    const auto space = route.find(' ');
    const std::string_view verb = std::string_view(route).substr(0, space);
    const std::string_view pattern = std::string_view(route).substr(space + 1);
    const bool fits = pattern == path || (pattern.ends_with('/') && path.starts_with(pattern));
    if (!fits) continue;
    if (verb == wanted || (verb == "HEAD" && method == "HEAD")) {
      if (pattern.size() < best_length) continue;
      best = &handler;
      best_length = pattern.size();
    } else if (allow.find(verb) == std::string::npos) {
      allow += (allow.empty() ? "" : ", ") + std::string(verb);
    }
  }
  return best;
}

}  // namespace

struct Server::Impl {
  Impl(const ServerOptions& options, std::map<std::string, Handler> routes, const Log& log)
      : shared(options, std::move(routes), log) {}

  ~Impl() {
    shared.stopping = true;
    net::post(shared.acceptor.get_executor(), [this] {
      error_code ignored;
      shared.acceptor.close(ignored);
      shared.retry.cancel();
    });
    std::vector<std::shared_ptr<Session>> open;
    {
      const std::lock_guard lock(shared.mutex);
      for (Session* session : shared.sessions)
        if (auto alive = session->weak_from_this().lock()) open.push_back(std::move(alive));
    }
    for (const auto& session : open) session->stop();
    open.clear();  // outside the lock: the last owner's destructor takes it
    {
      std::unique_lock lock(shared.mutex);
      shared.emptied.wait_for(lock, kStopPatience, [this] { return shared.sessions.empty(); });
    }
    shared.io.stop();
    for (auto& thread : threads) thread.join();
  }

  Shared shared;
  std::uint16_t port = 0;
  std::vector<std::thread> threads;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;
std::uint16_t Server::port() const { return impl_->port; }

Result<Server> Server::start(const ServerOptions& options, std::map<std::string, Handler> routes, const Log& log) {
  const std::string subject = options.address + ":" + std::to_string(options.port);
  error_code error;
  const auto address = net::ip::make_address(options.address, error);
  if (error) return fail(Errc::malformed, subject, "is no IP address", "as in 127.0.0.1 or ::");
  auto impl = std::make_unique<Impl>(options, std::move(routes), log);
  auto& acceptor = impl->shared.acceptor;
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error == net::error::address_in_use)
    return fail(Errc::conflict, subject, error.message(), "another process listens there; choose another port");
  if (error) return fail_errno(error.value(), subject, "cannot listen there");
  impl->port = acceptor.local_endpoint(error).port();
  impl->shared.accept();
  for (unsigned i = 0; i < std::max(1U, options.threads); ++i)
    impl->threads.emplace_back([&io = impl->shared.io] { io.run(); });
  return Server(std::move(impl));
}

}  // namespace wattle::http
