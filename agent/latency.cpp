#include "agent/latency.hpp"

#include <algorithm>

#include "common/stopped_within.hpp"

namespace wattle::agent {

namespace {
constexpr std::chrono::milliseconds kPatience{1000};
constexpr std::size_t kMaxPageBytes = 2 << 20;
}  // namespace

void LateRequestSum::add(const LateRequests& reading) {
  // A page is written while requests end, so its lines may be from different moments.
  if (last_ && reading.count >= last_->count) {
    const std::uint64_t count = reading.count - last_->count;
    sum_.count += count;
    sum_.over += reading.over > last_->over ? std::min(count, reading.over - last_->over) : 0;
  }
  last_ = reading;
}

struct Latency::Page {
  explicit Page(const LatencySource& from)
      : source(from),
        subject("http://" + from.host + ":" + std::to_string(from.port) + from.path),
        client(from.host, from.port, kMaxPageBytes) {
    client.accept("text/plain; version=0.0.4");
  }
  Result<LateRequests> get() {
    WATTLE_TRY(const auto answer, client.request("GET", source.path, "", kPatience));
    if (answer.status != 200)
      return fail(Errc::malformed, subject, "returned status " + std::to_string(answer.status),
                  "check that this is the page of metrics");
    return read_late_requests(answer.body, source.histogram);
  }

  const LatencySource source;
  const std::string subject;
  http::Client client;
  MonoTime due;
  bool reported_lost = false, reported_found = false;
  LateRequestSum requests;  // guarded by mutex_, as is `known`
  bool known = false;
};

Latency::Latency(const std::vector<LatencySource>& sources, const Log& log, LatencyPace pace) : log_(log), pace_(pace) {
  const MonoTime now = clock_.mono();
  for (const auto& source : sources) {
    pages_.push_back(std::make_unique<Page>(source));
    pages_.back()->due = now;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { keep_asking(stop); });
}

Latency::~Latency() {
  thread_.request_stop();
  for (const auto& page : pages_) page->client.stop();
}

std::map<std::string, actuation::Requests> Latency::totals() const {
  std::map<std::string, actuation::Requests> out;
  const std::lock_guard lock(mutex_);
  for (const auto& page : pages_)
    if (page->known) out[page->source.workload] = page->requests.sum();
  return out;
}

void Latency::keep_asking(const std::stop_token& stop) {
  for (;;) {
    const auto next = std::ranges::min_element(pages_, {}, [](const auto& page) { return page->due; });
    if (stopped_within(stop, (*next)->due - clock_.mono())) return;
    ask(**next, stop);
  }
}

void Latency::ask(Page& page, const std::stop_token& stop) {
  auto got = page.get();
  page.due = clock_.mono() + (got ? pace_.every : pace_.after_failure);
  {
    const std::lock_guard lock(mutex_);
    if (stop.stop_requested()) return;
    page.known = got.has_value();
    if (got) page.requests.add(*got);
  }
  if (!got) {
    if (got.error().subject != page.subject) got.error().subject = page.subject + ": " + got.error().subject;
    if (!page.reported_lost)
      log_.warn("latency.lost", "the response times of a workload are not readable",
                {{"workload", page.source.workload}, {"error", got.error()}});
    page.reported_lost = true;
    return;
  }
  if (!page.reported_found || page.reported_lost)
    log_.info("latency.known", "the response times of a workload are readable",
              {{"workload", page.source.workload},
               {"page", page.subject},
               {"target_s", page.source.histogram.target_s},
               {"late_above_s", got->bound_s}});
  page.reported_found = true;
  page.reported_lost = false;
}

}  // namespace wattle::agent
