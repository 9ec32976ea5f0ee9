#include "common/kube/mirror.hpp"

#include <utility>

namespace wattle::kube {
namespace {

using namespace std::chrono_literals;
constexpr auto kTimeout = 30s;
// A watch sends a bookmark about once a minute; a server that is silent for longer counts as lost.
constexpr auto kSilence = 150s;

}  // namespace

Mirror::Mirror(ApiServer server, ReflectorOptions options, Sink& sink, const Log& log)
    : api_(std::move(server), kTimeout, kSilence), reflector_(api_, sink, std::move(options)), log_(log) {
  thread_ = std::thread([this] { run(); });
}

Mirror::~Mirror() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  api_.stop();
  thread_.join();
}

void Mirror::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const Duration pause = reflector_.step();
    lock.lock();
    report();
    woken_.wait_for(lock, pause, [this] { return stopping_; });
  }
}

void Mirror::report() {
  const std::string& problem = reflector_.problem();
  if (!stopping_ && problem != health_.problem) {
    if (!problem.empty())
      log_.warn("api_server.lost", "the API server cannot be followed", {{"problem", problem}});
    else
      log_.info("api_server.followed", "the API server is followed again", {{"lists", reflector_.figures().lists}});
  }
  health_ = {reflector_.synced(), problem, reflector_.figures()};
}

MirrorHealth Mirror::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

}  // namespace wattle::kube
