#include "common/kube/reflector.hpp"

#include <algorithm>
#include <utility>

#include "common/http/target.hpp"
#include "common/json/value.hpp"
#include "common/kube/json.hpp"
#include "common/kube/managed_fields.hpp"

namespace wattle::kube {
namespace {

using json = SortedJson;

constexpr int kOk = 200;
constexpr int kGone = 410;
constexpr double kLongestPause_s = 32;
constexpr std::size_t kShownBytes = 200;
constexpr std::size_t kLargePageBytes = 8 << 20;  // its value may be beyond the limits below
constexpr std::chrono::seconds kLongestRetryAfter{300};

// Message of a Status object, otherwise the start of the text.
std::string said(int status, const std::string& body) {
  const json object = json::read(body, {.text_bytes = 64 << 20, .built_bytes = 384 << 20});
  std::string text = text_of(object, "message");
  if (text.empty()) text = body;
  return "HTTP " + std::to_string(status) + ": " + shortened(std::move(text), kShownBytes);
}

Duration wanted_pause(const Reply& reply) { return std::min(reply.retry_after, kLongestRetryAfter); }

std::size_t smaller(std::size_t page) { return std::max<std::size_t>(1, page / 4); }

}  // namespace

Reflector::Reflector(Api& api, Sink& sink, ReflectorOptions options)
    : api_(api), sink_(sink), options_(std::move(options)), random_(options_.seed) {}

std::string Reflector::target(const std::string& more) const {
  std::string out = options_.path + "?" + more;
  if (!options_.selector.empty()) out += "&" + options_.selector;
  return out;
}

Duration Reflector::step() { return version_.empty() ? list() : watch(); }

Duration Reflector::fail_(std::string what) {
  ++figures_.failures;
  problem_ = options_.path + ": " + std::move(what);
  return pause(failed_++);
}

Duration Reflector::pause(std::uint32_t times) {
  const double longest_s = std::min(kLongestPause_s, 0.5 * static_cast<double>(1ULL << std::min(times, 6U)));
  return from_seconds(std::uniform_real_distribution<double>(longest_s / 2, longest_s)(random_));
}

Duration Reflector::list() {
  std::string from, version;
  bool begun = false;
  do {
    std::string query = "limit=" + std::to_string(options_.limit);
    if (!from.empty()) query += "&continue=" + http::percent_encode(from);
    const auto reply = api_.get(target(query));
    if (!reply) {
      if (reply.error().code == Errc::malformed) options_.limit = smaller(options_.limit);
      return fail_(reply.error().message());
    }
    if (reply->status == kGone) ++figures_.too_old;
    if (reply->status != kOk) return std::max(fail_(said(reply->status, reply->body)), wanted_pause(*reply));
    const json page = json::read(without_fields(reply->body), {.text_bytes = 64 << 20, .built_bytes = 384 << 20});
    const json& metadata = member(page, "metadata");
    const json& items = member(page, "items");
    version = text_of(metadata, "resourceVersion");
    // An empty list may be written as null.
    if (version.empty() || !(items.is_array() || items.is_null())) {
      ++figures_.malformed;
      if (reply->body.size() > kLargePageBytes) options_.limit = smaller(options_.limit);
      return fail_("the answer is not a list with a resourceVersion");
    }
    if (!begun) sink_.begin_list();
    begun = true;
    for (const json& item : items) sink_.put(item);
    std::string next = text_of(metadata, "continue");
    if (!next.empty() && next == from) {
      ++figures_.malformed;
      return fail_("the list has no end: a page leads to itself");
    }
    from = std::move(next);
  } while (!from.empty());
  sink_.end_list();
  version_ = std::move(version);
  ++figures_.lists;
  failed_ = 0;
  problem_.clear();
  return Duration::zero();
}

Duration Reflector::watch() {
  const auto jitter = std::uniform_int_distribution<std::int64_t>(0, options_.watch_for.count() / 10)(random_);
  bool relist = false, received = false;
  const std::string query = "watch=1&allowWatchBookmarks=true&resourceVersion=" + http::percent_encode(version_) +
                            "&timeoutSeconds=" + std::to_string(options_.watch_for.count() + jitter);
  ++figures_.watches;
  const auto reply = api_.stream(target(query), [&](std::string_view line) {
    const bool go_on = take(line, relist);
    received = received || go_on;
    return go_on;
  });
  const bool again = relist || (reply && reply->status == kGone);
  if (received && !again && !version_.empty()) {
    failed_ = futile_ = 0;
    problem_.clear();
  }
  if (again) {
    ++figures_.too_old;
    version_.clear();
    // The first new list follows at once; repeated ones are delayed to spare the server.
    return futile_++ == 0 ? Duration::zero() : pause(futile_);
  }
  if (!reply) return fail_(reply.error().message());
  if (reply->status != kOk) return std::max(fail_(said(reply->status, reply->body)), wanted_pause(*reply));
  // The list that follows succeeds, so the pause grows with the watches that do not.
  if (version_.empty()) return std::max(fail_("a line of the watch is not an event; listing again"), pause(futile_++));
  failed_ = futile_ = 0;
  problem_.clear();
  // Avoids a tight loop with a server that ends every watch at once.
  return received ? Duration::zero() : from_seconds(std::uniform_real_distribution<double>(0.5, 1.0)(random_));
}

bool Reflector::take(std::string_view line, bool& relist) {
  const json event = json::read(without_fields(line), {.text_bytes = 64 << 20, .built_bytes = 384 << 20});
  const std::string type = text_of(event, "type");
  const json& object = member(event, "object");
  if (type == "ERROR") {
    // The usual error is "too old"; a new list recovers from the others as well.
    relist = true;
    return false;
  }
  std::string version = text_of(member(object, "metadata"), "resourceVersion");
  const bool puts = type == "ADDED" || type == "MODIFIED";
  if (version.empty() || !(puts || type == "DELETED" || type == "BOOKMARK")) {
    ++figures_.malformed;
    version_.clear();
    return false;
  }
  if (type == "BOOKMARK") {
    ++figures_.bookmarks;
  } else {
    ++figures_.events;
    if (puts)
      sink_.put(object);
    else
      sink_.erase(object);
  }
  version_ = std::move(version);
  return true;
}

}  // namespace wattle::kube
