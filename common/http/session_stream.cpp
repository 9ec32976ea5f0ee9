// Listening sessions: send published events until either side ends.
#include "common/http/session.hpp"

namespace wattle::http {
namespace {

// Sends no length, because the answer ends with the connection.
std::string stream_head(const Response& response) {
  std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n";
  for (const auto& [name, value] : response.headers) head.append(name).append(": ").append(value).append("\r\n");
  return head + "\r\n";
}

}  // namespace

void Session::listen(const Response& response) {
  if (!response.stream->join(shared_from_this(), from_))
    return refuse(Refused::too_many, {503, "text/plain; charset=utf-8", "too many listeners; retry later\n"});
  listens_to_ = response.stream;
  idle_ = true;  // lets stop() close at any time
  if (stopping_ || shared_.stopping) return end_listening(false);
  error_code ignored;
  const auto bytes = static_cast<int>(listens_to_->options().send_buffer_bytes);
  stream_.socket().set_option(net::socket_base::send_buffer_size(bytes), ignored);
  await_leaving();
  say(std::make_shared<std::string>(stream_head(response)));
}

void Session::on_event(Text text) {
  net::post(stream_.executor(), [self = shared_from_this(), text = std::move(text)] { self->say(text); });
}

void Session::say(const Text& text) {
  if (!listens_to_) return;
  if (!unsaid_.empty() && unsaid_bytes_ + text->size() > listens_to_->options().unread_bytes)
    return end_listening(true);
  unsaid_.push_back(text);
  unsaid_bytes_ += text->size();
  if (unsaid_.size() == 1) say_next();
}

void Session::say_next() {
  limit(shared_.options.request_timeout);
  stream_.async_write(*unsaid_.front(), {}, [self = shared_from_this()](error_code error, std::size_t) {
    if (error || !self->listens_to_) return self->end_listening(self->timed_out_);
    self->unsaid_bytes_ -= self->unsaid_.front()->size();
    self->unsaid_.pop_front();
    if (!self->unsaid_.empty()) return self->say_next();
    self->await_heartbeat();
  });
}

void Session::await_heartbeat() {
  end_wait();
  timer_.expires_after(listens_to_->options().heartbeat);
  timer_.async_wait([weak = weak_from_this(), generation = ++generation_](error_code error) {
    static const Text kComment = std::make_shared<const std::string>(":\n\n");
    if (error) return;
    if (const auto self = weak.lock(); self && self->generation_ == generation) self->say(kComment);
  });
}

// A listener sends nothing more; the read detects that it disconnects.
void Session::await_leaving() {
  stream_.async_read_some(net::buffer(discard_), [self = shared_from_this()](error_code error, std::size_t) {
    self->end_listening(error && self->timed_out_);
  });
}

void Session::end_listening(bool dropped) {
  if (const auto source = std::exchange(listens_to_, nullptr)) source->leave(this, dropped);
  close();
}

}  // namespace wattle::http
