#include "common/transport/ask_client.hpp"

#include <algorithm>
#include <utility>

#include "common/wire/codec.hpp"

namespace wattle::transport {

namespace {
using std::chrono::milliseconds;
constexpr milliseconds kReconnectMax{2'000};  // few processes ask, and users wait for them
constexpr Duration kRebuildEvery = std::chrono::seconds(1);

std::uint64_t request_id_of(const wire::Message& message) {
  return std::visit(
      [](const auto& value) -> std::uint64_t {
        if constexpr (requires { value.request_id; })
          return value.request_id;
        else
          return 0;
      },
      message);
}
}  // namespace

Result<AskClient> AskClient::connect(Context& context, ClientOptions options) {
  options.reconnect_max = std::min(options.reconnect_max, kReconnectMax);
  std::string endpoint = options.endpoint;
  WATTLE_TRY(Client client, Client::connect(context, options));
  return AskClient(std::move(client), std::move(endpoint));
}

Result<wire::Suggestion> AskClient::lend(wire::Ask& ask, milliseconds deadline) {
  ask.request_id = ++last_id_;
  if (ask.deadline_ms <= 0) ask.deadline_ms = static_cast<double>(deadline.count());
  const std::size_t candidates = ask.candidates.size();
  const std::uint64_t id = ask.request_id;
  wire::Message request(std::move(ask));
  auto exchanged = exchange(request, id, false, deadline);
  ask = std::move(std::get<wire::Ask>(request));
  WATTLE_TRY(wire::Message answer, std::move(exchanged));
  auto* suggestion = std::get_if<wire::Suggestion>(&answer);
  if (suggestion == nullptr) {
    const auto* reply = std::get_if<wire::Reply>(&answer);
    return fail(Errc::malformed, endpoint_,
                reply != nullptr && !reply->ok
                    ? reply->error
                    : "answered a placement request with a " + std::string(to_string(kind_of(answer))));
  }
  if (suggestion->scores.size() != candidates && !(suggestion->neutral && suggestion->scores.empty()))
    return fail(Errc::malformed, endpoint_,
                "returned " + std::to_string(suggestion->scores.size()) + " scores for " + std::to_string(candidates) +
                    " candidates");
  return std::move(*suggestion);
}

Result<std::string> AskClient::query(std::string what, std::map<std::string, std::string> arguments,
                                     milliseconds timeout) {
  const std::uint64_t id = ++last_id_;
  const std::string subject = endpoint_ + " " + what;
  WATTLE_TRY(wire::Message answer,
             exchange(wire::Message(wire::Query{id, std::move(what), std::move(arguments)}), id, true, timeout));
  auto* reply = std::get_if<wire::Reply>(&answer);
  if (reply == nullptr)
    return fail(Errc::malformed, subject, "answered a query with a " + std::string(to_string(kind_of(answer))));
  if (!reply->ok) return fail(Errc::malformed, subject, reply->error);
  return std::move(reply->body);
}

Result<wire::Snapshot> AskClient::snapshot(milliseconds timeout) {
  const std::uint64_t id = ++last_id_;
  const wire::Message request = wire::Query{id, "snapshot", {}};
  WATTLE_TRY(wire::Message answer, exchange(request, id, true, timeout));
  if (auto* snapshot = std::get_if<wire::Snapshot>(&answer)) return std::move(*snapshot);
  const auto* reply = std::get_if<wire::Reply>(&answer);
  return fail(
      Errc::malformed, endpoint_ + " snapshot",
      reply != nullptr && !reply->ok ? reply->error : "answered with a " + std::string(to_string(kind_of(answer))));
}

milliseconds AskClient::left(MonoTime until) const {
  return std::chrono::ceil<milliseconds>(std::max(until - clock_.mono(), Duration(0)));
}

Status AskClient::become_writable(MonoTime until, bool wait_for_link) {
  for (;;) {
    const Link link = client_.link();
    if (link == Link::up) {
      if (client_.wait_writable(left(until))) return {};
      if (client_.link() == Link::up)
        return fail(Errc::unavailable, endpoint_, "its queue is full", "the controller is overloaded; see its log");
      continue;
    }
    const std::string problem = client_.link_problem();
    if (link == Link::refused) {
      // A refused socket never tries again, so it is rebuilt; the next call uses the new one.
      if (clock_.mono() - rebuilt_at_ >= kRebuildEvery) {
        rebuilt_at_ = clock_.mono();
        if (const auto built = client_.rebuild(); !built) return built;
      }
      return fail(Errc::denied, endpoint_, problem);
    }
    if (!problem.empty() && !wait_for_link) return fail(Errc::unavailable, endpoint_, problem);
    const bool given_up = gives_up_ && !problem.empty() && client_.times_up() == 0;
    const auto pause = left(until);
    if (given_up || pause.count() == 0)
      return fail(Errc::unavailable, endpoint_, problem.empty() ? "not connected yet" : problem,
                  std::string(problem.empty() ? "check that its name resolves, " : "") +
                      "check that the controller is running and that the endpoint is its ask port");
    client_.wait_writable(pause);
  }
}

Result<wire::Message> AskClient::exchange(const wire::Message& request, std::uint64_t request_id, bool wait_for_link,
                                          milliseconds timeout) {
  const MonoTime until = clock_.mono() + timeout;
  while (client_.receive()) {
  }  // drops late answers to earlier requests
  WATTLE_CHECK(become_writable(until, wait_for_link));
  WATTLE_CHECK(client_.send(wire::encode(request)));
  const std::uint64_t times_up = client_.times_up();
  wire::Limits limits;
  limits.message_bytes = limits.body_bytes;
  for (;;) {
    while (const auto bytes = client_.receive()) {
      auto message = wire::decode(*bytes, limits);
      if (!message)
        return fail(Errc::malformed, endpoint_, "returned an invalid message: " + message.error().message());
      if (const auto* refusal = std::get_if<wire::Refusal>(&*message))
        return fail(Errc::denied, endpoint_, refusal->subject + ": " + refusal->what, refusal->fix);
      if (request_id_of(*message) == request_id) return std::move(*message);
    }
    if (client_.link() != Link::up || client_.times_up() != times_up)
      return fail(Errc::unavailable, endpoint_, "the connection was lost before the answer came", "retry");
    const auto pause = left(until);
    if (pause.count() == 0)
      return fail(Errc::timeout, endpoint_, "no answer within " + std::to_string(timeout.count()) + " ms");
    client_.wait_readable(pause);
  }
}

AskPool::AskPool(Context& context, ClientOptions options, std::size_t size)
    : context_(context), options_(std::move(options)), size_(std::max<std::size_t>(size, 1)) {}

AskPool::Lease::~Lease() {
  if (client_) pool_->give_back(std::move(client_));
}

Result<AskPool::Lease> AskPool::lend(milliseconds wait) {
  {
    std::unique_lock lock(mutex_);
    const auto free = [&] { return !idle_.empty() || made_ < size_; };
    if (!returned_.wait_for(lock, wait, free))
      return fail(Errc::exhausted, options_.endpoint, "all " + std::to_string(size_) + " clients are busy",
                  "raise the pool's size");
    if (!idle_.empty()) {
      auto client = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(client));
    }
    ++made_;
  }
  auto made = AskClient::connect(context_, options_);
  if (!made) {
    const std::lock_guard lock(mutex_);
    --made_;
    returned_.notify_one();
    return forward_error(made);
  }
  return Lease(*this, std::make_unique<AskClient>(std::move(*made)));
}

Result<wire::Suggestion> AskPool::ask(wire::Ask& ask, milliseconds deadline) {
  const MonoTime until = clock_.mono() + deadline;
  WATTLE_TRY(Lease client, lend(deadline));
  const auto left = std::chrono::ceil<milliseconds>(std::max(until - clock_.mono(), Duration(0)));
  return client->lend(ask, left);
}

void AskPool::give_back(std::unique_ptr<AskClient> client) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(client));
  returned_.notify_one();
}

}  // namespace wattle::transport
