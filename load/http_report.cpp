#include "load/http_report.hpp"

#include <array>
#include <cinttypes>

#include "common/formatted.hpp"
#include "common/json/value.hpp"

namespace wattle::load {
namespace {

struct Share {
  const char* name;
  double share;
};
constexpr std::array<Share, 5> kShares{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}}};

std::string spread_text(const char* name, const Spread& spread) {
  std::string out = formatted("%-24s%11.3f", name, spread.mean_ms());
  for (const Share& each : kShares) out += formatted("%11.3f", spread.quantile_ms(each.share));
  return out + formatted("%11.3f\n", spread.most_ms());
}

OrderedJson spread_json(const Spread& spread) {
  OrderedJson out{{"count", spread.count()}, {"mean", spread.mean_ms()}};
  for (const Share& each : kShares) out[each.name] = spread.quantile_ms(each.share);
  out["max"] = spread.most_ms();
  return out;
}

// Mean number of due requests without an answer, by Little's law.
double mean_open(const Tally& tally) {
  const double lasted_s = seconds(tally.lasted);
  return lasted_s > 0 ? tally.latency.mean_ms() * static_cast<double>(tally.latency.count()) / 1e3 / lasted_s : 0;
}

double due_rps(const Tally& tally) {
  return tally.offered > Duration{} ? static_cast<double>(tally.due) / seconds(tally.offered) : 0;
}

}  // namespace

std::string http_text(const UserLoad& load, const Tally& tally) {
  std::string out =
      formatted("%" PRIu64 " requests due in %.1f s: %.1f/s, ", tally.due, seconds(tally.offered), due_rps(tally));
  out += load.arrivals ? formatted("open loop, at most %zu connections at once\n", tally.most_connections)
                       : formatted("closed loop of %zu users\n", load.closed.users);
  out += formatted("answered %" PRIu64 ": %.1f/s over %.1f s, %.1f in flight on average, %" PRIu64 " bytes of body\n",
                   tally.answered, tally.answered_rps(), seconds(tally.lasted), mean_open(tally), tally.body_bytes);
  for (const auto& [status, count] : tally.by_status) out += formatted("  status %d: %" PRIu64 "\n", status, count);
  if (tally.failures() > 0) out += formatted("not answered %" PRIu64 "\n", tally.failures());
  for (std::size_t i = 0; i < kFailureNames.size(); ++i)
    if (tally.failed[i] > 0) out += formatted("  %s: %" PRIu64 "\n", kFailureNames[i].data(), tally.failed[i]);
  if (tally.cut_off > 0) out += formatted("cut off by the end of the run %" PRIu64 "\n", tally.cut_off);
  if (tally.reconnected > 0)
    out += formatted("sent again because the server had closed an idle connection %" PRIu64 "\n", tally.reconnected);
  out += formatted("\n%-24s%11s", "ms", "mean");
  for (const Share& each : kShares) out += formatted("%11s", each.name);
  out += formatted("%11s\n", "max");
  out += spread_text("from due to answer", tally.latency) + spread_text("  waited to be sent", tally.waited) +
         spread_text("  from sent to answer", tally.answering);
  if (load.arrivals && tally.most_connections >= load.most_connections)
    out += formatted(
        "all %zu connections were in use at times, so waiting includes waiting for a connection (--connections)\n",
        load.most_connections);
  return out;
}

std::string http_json(const UserLoad& load, const Tally& tally) {
  OrderedJson statuses = OrderedJson::object(), failed = OrderedJson::object();
  for (const auto& [status, count] : tally.by_status) statuses[std::to_string(status)] = count;
  for (std::size_t i = 0; i < kFailureNames.size(); ++i) failed[std::string(kFailureNames[i])] = tally.failed[i];
  const OrderedJson out{{"loop", load.arrivals ? "open" : "closed"},
                        {"offered_s", seconds(tally.offered)},
                        {"lasted_s", seconds(tally.lasted)},
                        {"due", tally.due},
                        {"due_rps", due_rps(tally)},
                        {"answered", tally.answered},
                        {"answered_rps", tally.answered_rps()},
                        {"statuses", statuses},
                        {"failed", failed},
                        {"cut_off", tally.cut_off},
                        {"reconnected", tally.reconnected},
                        {"body_bytes", tally.body_bytes},
                        {"connections", tally.most_connections},
                        {"under_way_mean", mean_open(tally)},
                        {"latency_ms", spread_json(tally.latency)},
                        {"waited_to_be_sent_ms", spread_json(tally.waited)},
                        {"sent_to_answer_ms", spread_json(tally.answering)}};
  return out.dump(2) + "\n";
}

std::string progress_line(const Progress& second) {
  return formatted("%5.0f s: due %" PRIu64 "/s, answered %" PRIu64 "/s, failed %" PRIu64
                   "/s, p50 %.1f ms, p99 %.1f ms, in flight %zu, waiting %zu",
                   seconds(second.since_start), second.due, second.answered, second.failed,
                   second.latency.quantile_ms(0.5), second.latency.quantile_ms(0.99), second.under_way, second.waiting);
}

}  // namespace wattle::load
