#include "common/http/session.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "common/http/head.hpp"
#include "common/http/target.hpp"

namespace wattle::http {
namespace {

constexpr std::size_t kSmallBody = 64 << 10, kReadBytes = 64 << 10;

std::string lower(beast::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

Response plain(int status, std::string text) { return {status, "text/plain; charset=utf-8", std::move(text) + "\n"}; }

}  // namespace

Session::Session(Shared& shared, tcp::socket socket, TlsContext tls, Source from)
    : shared_(shared),
      from_(std::move(from)),
      since_(++shared.turns),
      stream_(std::move(socket), std::move(tls)),
      timer_(stream_.executor()) {}

Session::~Session() {
  give_room();
  if (listens_to_) listens_to_->leave(this, false);
  const std::lock_guard lock(shared_.mutex);
  shared_.sessions.erase(this);
  if (shared_.sessions.empty()) shared_.emptied.notify_all();
}

void Session::start() {
  net::dispatch(stream_.executor(), [self = shared_from_this()] { self->run_start(); });
}

void Session::run_start() {
  error_code ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
  if (stream_.secure()) return shake_hands();
  await_request();
}

void Session::shake_hands() {
  if (stopping_ || shared_.stopping) return close();
  idle_ = true;
  limit(shared_.options.request_timeout);
  stream_.async_handshake([self = shared_from_this()](error_code error) {
    self->idle_ = false;
    if (!error) return self->await_request();
    if (self->stopping_) return self->close();
    self->shared_.refused(Refused::tls, self->timed_out_ ? "the TLS handshake took too long" : error.message());
    self->close();
  });
}

void Session::stop() {
  net::post(stream_.executor(), [self = shared_from_this()] {
    self->stopping_ = true;
    if (self->idle_) self->close();
  });
}

bool Session::give_way() {
  Turn now = turn_.load();
  do {
    if (now >= Turn::work) return false;
  } while (!turn_.compare_exchange_weak(now, Turn::gone));
  net::post(stream_.executor(), [self = shared_from_this()] { self->close(); });
  return true;
}

bool Session::take(Turn next) {
  Turn now = turn_.load();
  do {
    if (now == Turn::gone) return false;
  } while (!turn_.compare_exchange_weak(now, next));
  since_ = ++shared_.turns;
  return true;
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
      self->stream_.socket().cancel(ignored);
    }
  });
}

void Session::unlimit() {
  ++generation_;
  timer_.cancel();
}

void Session::await_request() {
  parser_.emplace();
  give_room();
  parser_->header_limit(static_cast<std::uint32_t>(shared_.options.max_header_bytes));
  parser_->body_limit(shared_.options.max_body_bytes);
  if (buffer_.size() > 0) return read_header();
  if (stopping_ || shared_.stopping) return close();
  if (!first_ && !take(Turn::idle)) return close();
  idle_ = true;
  // Whoever connects has something to say: connections that only wait would keep others out.
  const auto& options = shared_.options;
  limit(first_ ? std::min(options.request_timeout, options.idle_timeout) : options.idle_timeout);
  stream_.async_read_some(buffer_.prepare(4096), [self = shared_from_this()](error_code error, std::size_t count) {
    self->idle_ = false;
    if (error && self->timed_out_ && self->first_)
      self->shared_.refused(Refused::too_slow, "a connection without a request");
    if (error) return self->close();
    self->first_ = false;
    self->buffer_.commit(count);
    self->read_header();
  });
}

// Not by Beast: what it makes of a header does not show how that was written.
void Session::read_header() {
  if (!take(Turn::header)) return close();
  limit(shared_.options.request_timeout);
  read_more_header();
}

void Session::read_more_header() {
  const auto& options = shared_.options;
  const std::string_view bytes(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  if (const auto head = head_bytes(bytes); head && *head <= options.max_header_bytes) return on_header(*head);
  if (bytes.size() >= options.max_header_bytes) return on_read(bhttp::error::header_limit, true);
  const std::size_t most = std::min<std::size_t>(4096, options.max_header_bytes - bytes.size());
  stream_.async_read_some(buffer_.prepare(most), [self = shared_from_this()](error_code error, std::size_t count) {
    if (error || self->timed_out_)
      return self->on_read(error == net::error::eof ? bhttp::error::partial_message : error, true);
    self->buffer_.commit(count);
    self->read_more_header();
  });
}

void Session::on_header(std::size_t bytes) {
  const std::string_view head(static_cast<const char*>(buffer_.data().data()), bytes);
  error_code error;
  const auto wrong = wrong_with(head);
  buffer_.consume(parser_->put(net::buffer(head.data(), head.size()), error));
  if (error == bhttp::error::need_more) error = {};
  // The parser first: of what is no HTTP at all, that is what is told.
  if (wrong && !error) return refuse(Refused::malformed, plain(400, "not an HTTP request: " + *wrong));
  on_read(error, true);
}

void Session::read_body() {
  parser_->eager(true);
  error_code error;
  if (buffer_.size() > 0) buffer_.consume(parser_->put(buffer_.data(), error));
  if (error && error != bhttp::error::need_more) return on_read(error, false);
  if (parser_->is_done()) return on_read({}, false);
  read_more_body();
}

void Session::read_more_body() {
  stream_.async_read_some(
      buffer_.prepare(kReadBytes), [self = shared_from_this()](error_code error, std::size_t count) {
        if (error || self->timed_out_)
          return self->on_read(error == net::error::eof ? bhttp::error::partial_message : error, false);
        self->buffer_.commit(count);
        self->read_body();
      });
}

// For a client that waits for leave to send its body.
void Session::invite_body() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.async_write(kContinue, {}, [self = shared_from_this()](error_code error, std::size_t) {
    if (error) return self->close();
    self->read_body();
  });
}

void Session::on_read(error_code error, bool header) {
  const auto& options = shared_.options;
  if (timed_out_)
    return refuse(Refused::too_slow, plain(408, "the request did not arrive within " +
                                                    std::to_string(options.request_timeout.count()) + " ms"));
  if (error == bhttp::error::header_limit)
    return refuse(Refused::too_large,
                  plain(431, "the header is larger than " + std::to_string(options.max_header_bytes) + " bytes"));
  if (error == bhttp::error::body_limit)
    return refuse(Refused::too_large,
                  plain(413, "the body is larger than " + std::to_string(options.max_body_bytes) + " bytes"));
  if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category() &&
      error != bhttp::error::end_of_stream && error != bhttp::error::partial_message)
    return refuse(Refused::malformed, plain(400, "not an HTTP request: " + error.message()));
  if (error) return close();
  if (!header || parser_->is_done()) return answer();
  if (!take(Turn::body)) return close();
  if (!hold_room())
    return refuse(Refused::too_many, plain(503, "the bodies of all requests are more than " +
                                                    std::to_string(options.max_bodies_bytes) + " bytes"));
  if (beast::iequals(parser_->get()[bhttp::field::expect], "100-continue")) return invite_body();
  read_body();
}

// A body that does not say how long it is may become as long as one can be.
bool Session::hold_room() {
  const auto& options = shared_.options;
  const std::uint64_t length = parser_->content_length().value_or(options.max_body_bytes);
  if (length <= kSmallBody) return true;
  held_bytes_ = static_cast<std::size_t>(length);
  if (shared_.bodies_bytes.fetch_add(held_bytes_) + held_bytes_ <= options.max_bodies_bytes) return true;
  give_room();
  return false;
}

void Session::give_room() { shared_.bodies_bytes -= std::exchange(held_bytes_, 0); }

void Session::answer() {
  if (!take(Turn::work)) return close();
  unlimit();
  const auto& message = parser_->get();
  const std::string method(message.method_string());
  auto target = parse_target(std::string_view(message.target().data(), message.target().size()));
  if (!target) return refuse(Refused::malformed, plain(400, target.error().message()));
  Request request{
      method, target->path, std::move(target->query), {}, std::string(message[bhttp::field::authorization])};
  for (const auto& field : message)
    if (field.name() != bhttp::field::authorization)
      request.headers[lower(field.name_string())] = std::string(field.value());
  if (!shared_.open(target->path) && !shared_.admits(request)) {
    shared_.refused(Refused::token, target->path + " was asked for without the right bearer token");
    return send(plain(401, "this page asks for a bearer token"), true);
  }

  std::string allow;
  const Handler* handler = shared_.find(method, target->path, allow);
  if (handler == nullptr) shared_.refused(Refused::path, method + " " + target->path);
  if (handler == nullptr && !allow.empty())
    return send(plain(405, target->path + " does not answer " + method + "; it answers " + allow), true, allow);
  if (handler == nullptr) return send(plain(404, "nothing is at " + target->path), true);

  request.body = std::move(parser_->get().body());
  request.from = from_.network;
  Response response;
  try {
    response = (*handler)(request);
  } catch (const std::exception& error) {
    shared_.log.error("http handler failed", {{"method", method}, {"path", request.path}, {"what", error.what()}});
    response = plain(500, request.path + " failed; the log says why");
  }
  if (response.refused)
    shared_.refused(*response.refused, method + " " + request.path + " of " + request.from + " got status " +
                                           std::to_string(response.status));
  request.body = std::string();
  give_room();
  if (response.stream && method == "GET") return listen(response);
  send(std::move(response), true);
}

}  // namespace wattle::http
