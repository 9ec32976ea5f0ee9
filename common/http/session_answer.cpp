// Answers of a session, and its end.
#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "common/http/session.hpp"

namespace wattle::http {
namespace {

// Time for which a closing connection discards further input, so that a reset does not destroy our answer.
constexpr std::chrono::milliseconds kLinger{5000};

}  // namespace

void Session::send(Response response, bool keep) {
  const auto& message = parser_->get();
  const bool got_header = parser_->is_header_done();
  const bool old = got_header && message.version() == 10;
  keep_ = keep && message.keep_alive() && !stopping_ && !shared_.stopping;
  parser_->get().body() = std::string();  // drops the received part of a refused request's body
  give_room();
  if (!take(Turn::peer)) return close();
  const auto status = static_cast<unsigned>(response.status);
  const auto reason = bhttp::obsolete_reason(bhttp::int_to_status(status));
  head_ = (old ? "HTTP/1.0 " : "HTTP/1.1 ") + std::to_string(status) + " " + std::string(reason);
  const auto add = [this](std::string_view name, std::string_view value) {
    head_.append("\r\n").append(name).append(": ").append(value);
  };
  add("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) add(name, value);
  if (response.status == 401) add("WWW-Authenticate", "Bearer");
  add("Content-Length", std::to_string(response.body.size()));
  if (keep_ == old) add("Connection", keep_ ? "keep-alive" : "close");
  head_.append("\r\n\r\n");
  body_ = got_header && message.method() == bhttp::verb::head ? std::string() : std::move(response.body);
  const auto delay = response.status == 401 && shows_secret_
                         ? shared_.guesses.wrong(from_.network, shared_.clock.mono())
                         : std::chrono::milliseconds(0);
  if (delay.count() == 0) return write_answer();
  idle_ = true;  // lets stop() close at once
  end_wait();
  timer_.expires_after(delay);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    self->idle_ = false;
    if (error || self->has_given_way()) return self->close();
    self->write_answer();
  });
}

void Session::write_answer() {
  limit(shared_.options.request_timeout);
  const std::size_t written = stream_.write_now(head_, body_);
  const std::size_t of_head = std::min(written, head_.size());
  const std::string_view head = std::string_view(head_).substr(of_head);
  const std::string_view body = std::string_view(body_).substr(written - of_head);
  // Answers to requests that have arrived already would nest.
  if (head.empty() && body.empty() && buffer_.size() == 0) return on_written({});
  stream_.async_write(head, body,
                      [self = shared_from_this()](error_code error, std::size_t) { self->on_written(error); });
}

void Session::on_written(error_code error) {
  unlimit();
  body_ = std::string();
  if (error) return close();
  if (!keep_) return close_slowly();
  await_request();
}

void Session::refuse(Refused why, Response response) {
  shared_.refused(why, response.body.substr(0, response.body.find('\n')));
  send(std::move(response), false);
}

void Session::close_slowly() {
  if (!take(Turn::peer)) return close();
  idle_ = true;
  limit(kLinger);
  if (!stream_.secure()) return end_sending();
  stream_.async_shutdown([self = shared_from_this()](error_code) { self->end_sending(); });
}

void Session::end_sending() {
  error_code error;
  stream_.socket().shutdown(tcp::socket::shutdown_send, error);
  if (error || timed_out_) return close();
  drain();
}

void Session::drain() {
  stream_.socket().async_read_some(net::buffer(discard_), [self = shared_from_this()](error_code error, std::size_t) {
    if (error || self->timed_out_) return self->close();
    self->drain();
  });
}

void Session::close() {
  end_wait();
  error_code ignored;
  stream_.socket().close(ignored);
}

}  // namespace wattle::http
