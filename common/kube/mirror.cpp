#include "common/kube/mirror.hpp"

#include <utility>

#include "common/stopped_within.hpp"

namespace wattle::kube {
namespace {

using namespace std::chrono_literals;
constexpr auto kTimeout = 30s;
// A watch sends a bookmark about once a minute; a server that is silent for longer counts as lost.
constexpr auto kSilence = 150s;

}  // namespace

Mirror::Mirror(ApiServer server, ReflectorOptions options, Sink& sink, const Log& log)
    : api_(std::move(server), kTimeout, kSilence), reflector_(api_, sink, std::move(options)), log_(log) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Mirror::~Mirror() {
  thread_.request_stop();
  api_.stop();
}

void Mirror::run(const std::stop_token& stop) {
  Duration pause{};
  do {
    pause = reflector_.step();
    if (!stop.stop_requested()) report();
  } while (!stopped_within(stop, pause));
}

void Mirror::report() {
  const std::string& problem = reflector_.problem();
  const std::lock_guard lock(mutex_);
  if (problem != health_.problem) {
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
