#include "controller/power/sleep_memory.hpp"

#include <utility>

#include "controller/store/store.hpp"

namespace wattle::controller::power {

namespace {
std::int64_t unix_s(WallTime at) { return to_ns(at) / 1'000'000'000; }
}  // namespace

SleepMemory read_memory(Store& store, const Log& log) {
  SleepMemory memory;
  const Result<std::string> plan = store
                                       .read([&memory](StoreFile& file) -> Result<std::string> {
                                         WATTLE_TRY(memory.exclusions, file.sleeps().exclusions());
                                         return file.sleeps().plan();
                                       })
                                       .get();
  if (!plan) {
    log.error("sleep.not_restored", "excluded nodes and the outlook of demand cannot be read from the store",
              {{"error", plan.error()}});
    return memory;
  }
  placement::PackReader in(*plan);
  placement::sleep::DemandOutlook outlook;
  outlook.unpack(in);
  if (in.done()) memory.outlook = std::move(outlook);
  return memory;
}

void keep_outlook(Store& store, const placement::sleep::DemandOutlook& outlook, WallTime now) {
  placement::PackWriter out;
  outlook.pack(out);
  store.read([body = out.take(), at_s = unix_s(now)](StoreFile& file) -> Result<std::string> {
    WATTLE_CHECK(file.sleeps().keep_plan(body, at_s));
    return std::string();
  });
}

void keep_exclusion(Store& store, const Log& log, const std::string& node, const std::string& why, WallTime now) {
  store.read([node, why, &log, at_s = unix_s(now)](StoreFile& file) -> Result<std::string> {
    if (const Status kept = file.sleeps().exclude(node, why, at_s); !kept)
      log.error("sleep.not_kept", "the exclusion of a node is in force but lost at a restart",
                {{"node", node}, {"error", kept.error()}});
    return std::string();
  });
}

}  // namespace wattle::controller::power
