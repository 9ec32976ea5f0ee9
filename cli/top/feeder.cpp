#include "cli/top/feeder.hpp"

#include <utility>

namespace wattle::cli::top {

namespace {
using ordered_json = OrderedJson;
constexpr std::chrono::milliseconds kLook{100};
constexpr Duration kAskEvery = std::chrono::seconds(1);    // during changes
constexpr Duration kAskAtLeast = std::chrono::seconds(5);  // ages grow without changes
}  // namespace

Feeder::Feeder(Controller& controller, transport::Subscriber& feed, const Clock& clock)
    : controller_(controller), feed_(feed), clock_(clock), thread_([this] { run(); }) {}

Feeder::~Feeder() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  thread_.join();
}

void Feeder::want(const std::string& node) {
  const std::lock_guard lock(mutex_);
  wanted_ = node;
  at_once_ = true;
  reported_.reset();
}

std::optional<Update> Feeder::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(reported_, std::nullopt);
}

Result<ordered_json> Feeder::ask(const std::string& node) {
  WATTLE_TRY(ordered_json status, controller_.ask("status", {}));
  ordered_json document{{"status", std::move(status)}};
  const char* what = node.empty() ? "nodes" : "node";
  WATTLE_TRY(ordered_json answer, node.empty() ? controller_.ask(what, {}) : controller_.ask(what, {{"name", node}}));
  document[what] = std::move(answer[what]);
  return document;
}

void Feeder::run() {
  MonoTime asked{};
  for (bool changed = false;;) {
    bool now = false;
    std::string node;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      now = std::exchange(at_once_, false);
      node = wanted_;
    }
    const Duration since = clock_.mono() - asked;
    if (now || (changed && since >= kAskEvery) || since >= kAskAtLeast) {
      changed = false;
      auto document = ask(node);
      asked = clock_.mono();
      // A refused feed does not reconnect by itself. Until it is back, only the ages of the values are updated.
      if (feed_.link() == transport::Link::refused && document)
        if (const auto rebuilt = feed_.rebuild(); !rebuilt) document = tl::unexpected<Error>(rebuilt.error());
      const std::lock_guard lock(mutex_);
      if (!at_once_) reported_ = Update{node, std::move(document)};
    }
    if (feed_.receive(kLook)) changed = true;
  }
}

}  // namespace wattle::cli::top
