#include "shim/feed.hpp"

#include <array>
#include <utility>

#include "common/wire/codec.hpp"

namespace wattle::shim {

namespace {
constexpr std::chrono::milliseconds kLookForStop{100};  // delay until a stop is noticed
constexpr Duration kRebuildEvery = std::chrono::seconds(1);
constexpr std::size_t kMaxBoardBytes = 16 << 20;
}  // namespace

Result<std::unique_ptr<Feed>> Feed::start(transport::Context& context, const transport::ClientOptions& options,
                                          BoardKeeper& board, const Clock& clock, const Log& log) {
  const std::array<std::string, 1> topics{std::string(transport::kTopicBoard)};
  WATTLE_TRY(auto subscriber, transport::Subscriber::connect(context, options, topics));
  std::unique_ptr<Feed> feed(new Feed(std::move(subscriber), board, clock, log));
  feed->thread_ = std::thread([self = feed.get()] { self->listen(); });
  return feed;
}

Feed::~Feed() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void Feed::listen() {
  wire::Limits limits;
  limits.message_bytes = kMaxBoardBytes;
  while (!stopping_) {
    const MonoTime before = clock_.mono();
    pulse_.beat(before);
    const auto published = subscriber_.receive(kLookForStop);
    if (const Duration stood = clock_.mono() - before; stood >= kClockStopped) {
      log_.info("feed.stood_still", "the subscription of the feed is rebuilt, because its boards may be old",
                {{"stood_s", seconds(stood)}});
      rebuild();
      continue;
    }
    if (!published) {
      rebuild_when_refused();
      continue;
    }
    if (published->topic != transport::kTopicBoard) continue;
    auto message = wire::decode(published->bytes, limits);
    auto* board = message ? std::get_if<wire::Board>(&*message) : nullptr;
    if (board != nullptr) {
      board_.receive(std::move(*board), clock_.mono());
    } else if (!std::exchange(garbage_logged_, true)) {
      log_.warn("feed.invalid", "the feed sent no board",
                {{"why", message ? std::string("it sent another kind of message") : message.error().message()}});
    }
  }
}

void Feed::rebuild_when_refused() {
  if (subscriber_.link() != transport::Link::refused || clock_.mono() - rebuilt_ < kRebuildEvery) return;
  log_.warn("feed.refused", "the feed rejected the connection", {{"why", subscriber_.link_problem()}});
  rebuild();
}

void Feed::rebuild() {
  rebuilt_ = clock_.mono();
  if (const auto built = subscriber_.rebuild(); !built)
    log_.warn("feed.rebuild_failed", "the subscription of the feed cannot be rebuilt", {{"why", built.error()}});
}

}  // namespace wattle::shim
