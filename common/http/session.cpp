#include "common/http/session.hpp"

#include <algorithm>
#include <limits>

#include "common/http/head.hpp"
#include "common/http/target.hpp"

namespace wattle::http {
namespace {

constexpr std::size_t kSmallBody = 64 << 10, kReadBytes = 64 << 10;

}  // namespace

Response plain(int status, std::string text) { return {status, "text/plain; charset=utf-8", std::move(text) + "\n"}; }

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

bool Session::leave_peer() {
  Turn now = turn_.load();
  do {
    if (now != Turn::peer) return false;
  } while (!turn_.compare_exchange_weak(now, Turn::gone));
  give_room();
  return true;
}

bool Session::give_way() {
  if (!leave_peer()) return false;
  net::post(stream_.executor(), [self = shared_from_this()] { self->close(); });
  return true;
}

// Cancels the read of a body that holds room; such a body always has a read in progress. Its handler sends the answer,
// as does the handler of a read that has ended but is still queued.
bool Session::give_way_with_body() {
  if (!leave_peer()) return false;
  net::post(stream_.executor(), [self = shared_from_this()] {
    error_code ignored;
    if (self->has_given_way()) self->stream_.socket().cancel(ignored);
  });
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

void Session::limit(std::chrono::milliseconds span) {
  timed_out_ = false;
  limit_ = shared_.clock.mono() + span;
  if (limit_ < waits_to_) wait_until(limit_);
}

void Session::wait_until(MonoTime at) {
  waits_to_ = at;
  timer_.expires_after(at - shared_.clock.mono());
  timer_.async_wait([weak = weak_from_this(), generation = ++generation_](error_code error) {
    if (error) return;
    // A wait that ended before it was replaced or cancelled is still delivered; the generation detects it.
    if (const auto self = weak.lock(); self && self->generation_ == generation) self->on_waited();
  });
}

void Session::on_waited() {
  waits_to_ = MonoTime::max();
  if (limit_ == MonoTime::max()) return;
  if (shared_.clock.mono() < limit_) return wait_until(limit_);
  timed_out_ = true;
  error_code ignored;
  stream_.socket().cancel(ignored);
}

void Session::end_wait() {
  unlimit();
  ++generation_;
  waits_to_ = MonoTime::max();
  timer_.cancel();
}

void Session::await_request() {
  parser_.emplace();
  give_room();
  parser_->header_limit(static_cast<std::uint32_t>(shared_.options.max_header_bytes));
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // the route's limit applies once the route is known
  if (buffer_.size() > 0) return read_header();
  if (stopping_ || shared_.stopping) return close();
  if (!first_ && !take(Turn::peer)) return close();
  idle_ = true;
  // A client that connects is expected to send: idle new connections would keep others out.
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

// Reads the header itself, because Beast's parser does not expose its original form.
void Session::read_header() {
  if (!take(Turn::peer)) return close();
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
  // The parser's error comes first, so that text that is not HTTP gets the right reason.
  if (wrong && !error) return refuse(Refused::malformed, plain(400, "not an HTTP request: " + *wrong));
  on_read(error, true);
}

void Session::read_body() {
  parser_->eager(true);
  error_code error;
  if (buffer_.size() > 0) buffer_.consume(parser_->put(buffer_.data(), error));
  if (error && error != bhttp::error::need_more) return on_read(error, false);
  if (parser_->is_done()) return on_read({}, false);
  if (has_given_way()) return answer_no_room();
  if (!hold_room(parser_->get().body().size())) {
    // Otherwise another session has just dropped this body, and has counted it.
    if (leave_peer())
      shared_.refused(Refused::too_many, "a request body was dropped because newer bodies use all memory for bodies");
    return answer_no_room();
  }
  if (has_given_way()) return answer_no_room();
  read_more_body();
}

void Session::read_more_body() {
  stream_.async_read_some(
      buffer_.prepare(kReadBytes), [self = shared_from_this()](error_code error, std::size_t count) {
        if (self->has_given_way()) return self->answer_no_room();
        if (error || self->timed_out_)
          return self->on_read(error == net::error::eof ? bhttp::error::partial_message : error, false);
        self->buffer_.commit(count);
        self->read_body();
      });
}

// Answers a client that waits for "100 Continue" before it sends its body.
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
                  plain(413, "the body is larger than " + std::to_string(route_->max_body_bytes) + " bytes"));
  if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category() &&
      error != bhttp::error::end_of_stream && error != bhttp::error::partial_message)
    return refuse(Refused::malformed, plain(400, "not an HTTP request: " + error.message()));
  if (error) return close();
  if (!header) return answer();
  on_request();
}

// Decides everything that depends only on the header, before any of the body is read.
void Session::on_request() {
  const auto& message = parser_->get();
  auto target = parse_target(std::string_view(message.target().data(), message.target().size()));
  if (!target) return refuse(Refused::malformed, plain(400, target.error().message()));
  request_ = {std::string(message.method_string()),
              target->path,
              std::move(target->query),
              {},
              std::string(message[bhttp::field::authorization])};
  for (const auto& field : message)
    if (field.name() != bhttp::field::authorization)
      request_.headers[lower_case(std::string_view(field.name_string().data(), field.name_string().size()))] =
          std::string(field.value());
  request_.from = from_.network;
  request_.repeated = std::move(target->repeated);
  const auto cookies = request_.headers.find("cookie");
  shows_secret_ = !request_.authorization.empty() || !parser_->is_done() ||
                  (cookies != request_.headers.end() && cookies->second.find(kPassCookie) != std::string::npos);
  if (auto refused = shared_.refusal(request_, parser_->content_length().value_or(0), route_))
    return send(std::move(*refused), parser_->is_done());
  if (parser_->is_done()) return answer();
  parser_->body_limit(route_->max_body_bytes);
  if (beast::iequals(parser_->get()[bhttp::field::expect], "100-continue")) return invite_body();
  // Most bodies arrive with their header; a read through the reactor would wake another thread.
  if (buffer_.size() < parser_->content_length().value_or(0))
    buffer_.commit(stream_.read_now(buffer_.prepare(kReadBytes)));
  read_body();
}

// Reserves room for what has arrived and for the next read; an announced length reserves none.
bool Session::hold_room(std::size_t bytes) {
  const std::size_t needed = bytes <= kSmallBody ? 0 : bytes + kReadBytes;
  const std::size_t held = held_bytes_.load();
  return needed <= held || shared_.hold(held_bytes_, needed - held, since_.load());
}

void Session::answer_no_room() {
  // A body that was dropped during hold_room() has reserved room again.
  parser_->get().body() = std::string();
  give_room();
  turn_ = Turn::peer;  // only this strand leaves `gone`
  send(plain(503,
             "the bodies of all requests are more than " + std::to_string(shared_.options.max_bodies_bytes) + " bytes"),
       false);
}

void Session::give_room() { shared_.bodies_bytes -= held_bytes_.exchange(0); }

void Session::answer() {
  if (!take(Turn::work)) return close();
  unlimit();
  request_.body = std::move(parser_->get().body());
  Response response;
  try {
    response = route_->handler(request_);
  } catch (const std::exception& error) {
    shared_.log.error("http.handler_failed", "the handler of a request failed",
                      {{"method", request_.method}, {"path", request_.path}, {"what", error.what()}});
    response = plain(500, request_.path + " failed; see the log");
  }
  shared_.count(request_, response);
  request_.body = std::string();
  give_room();
  if (response.stream && request_.method == "GET") return listen(response);
  send(std::move(response), true);
}

}  // namespace wattle::http
