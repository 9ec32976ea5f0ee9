// What a session answers, and how it ends. Beast's writing is compiled apart from its reading: together they took a compiler eighteen seconds.
#include "common/http/session.hpp"

namespace wattle::http {
namespace {

// How long a closing connection may still send what we do not read, so that our answer is not lost to a reset.
constexpr std::chrono::milliseconds kLinger{5000};

}  // namespace

void Session::send(Response response, bool keep, std::string allow) {
  const auto& message = parser_->get();
  const bool got_header = parser_->is_header_done();
  keep_ = keep && message.keep_alive() && !stopping_ && !shared_.stopping;
  const auto fill = [&](auto& out) {
    out.result(static_cast<unsigned>(response.status));
    out.version(got_header ? message.version() : 11);
    out.set(bhttp::field::content_type, response.content_type);
    for (const auto& [name, value] : response.headers) out.insert(name, value);
    if (!allow.empty()) out.set(bhttp::field::allow, allow);
    if (response.status == 401) out.set(bhttp::field::www_authenticate, "Bearer");
    out.content_length(response.body.size());
    out.keep_alive(keep_);
  };
  if (!take(Turn::answer)) return close();
  limit(shared_.options.request_timeout);
  const auto done = [self = shared_from_this()](error_code error, std::size_t) { self->on_written(error); };
  if (got_header && message.method() == bhttp::verb::head) {
    bare_.emplace();
    fill(*bare_);
    return bhttp::async_write(stream_, *bare_, done);
  }
  response_.emplace();
  fill(*response_);
  response_->body() = std::move(response.body);
  bhttp::async_write(stream_, *response_, done);
}

void Session::on_written(error_code error) {
  unlimit();
  response_.reset();
  bare_.reset();
  if (error) return close();
  if (!keep_) return close_slowly();
  await_request();
}

void Session::refuse(Refused why, Response response) {
  shared_.refused(why, response.body.substr(0, response.body.find('\n')));
  send(std::move(response), false);
}

void Session::close_slowly() {
  if (!take(Turn::header)) return close();
  idle_ = true;
  limit(kLinger);
  if (!stream_.secure()) return end_sending();
  stream_.tls().async_shutdown([self = shared_from_this()](error_code) { self->end_sending(); });
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
  unlimit();
  error_code ignored;
  stream_.socket().close(ignored);
}

}  // namespace wattle::http
