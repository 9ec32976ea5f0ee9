#include "controller/power/sleep_memory.hpp"

#include <utility>

#include "controller/store/store.hpp"

namespace wattle::controller::power {

namespace {
constexpr Duration kWriteAgain = std::chrono::minutes(1);
std::int64_t unix_s(WallTime at) { return to_ns(at) / 1'000'000'000; }
}  // namespace

SleepMemory read_memory(Store& store, const Clock& clock, const Log& log) {
  SleepMemory memory;
  const Result<std::string> plan = store
                                       .read([&memory](StoreFile& file) -> Result<std::string> {
                                         WATTLE_TRY(memory.exclusions, file.sleeps().exclusions());
                                         return file.sleeps().plan();
                                       })
                                       .get();
  if (!plan) {
    log.error("sleep.not_restored", "excluded nodes and the demand outlook cannot be read from the store",
              {{"error", plan.error()}});
    return memory;
  }
  placement::PackReader in(*plan);
  SleepMemory read;
  read.outlook.unpack(in);
  read.refused.unpack(in);
  read.waits.unpack(in, clock);
  if (!in.done()) return memory;
  read.exclusions = std::move(memory.exclusions);
  return read;
}

void keep_memory(Store& store, const SleepMemory& memory, const Clock& clock) {
  placement::PackWriter out;
  memory.outlook.pack(out);
  memory.refused.pack(out);
  memory.waits.pack(out, clock);
  store.read([body = out.take(), at_s = unix_s(clock.wall())](StoreFile& file) -> Result<std::string> {
    WATTLE_CHECK(file.sleeps().keep_plan(body, at_s));
    return std::string();
  });
}

void ExclusionWriter::turn(Store& store, const Log& log, const Clock& clock) {
  if (write_) {
    if (write_->wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    const Result<std::string> written = write_->get();
    write_.reset();
    if (written) {
      std::erase_if(unwritten_, [this](const auto& item) {
        const auto done = writing_.find(item.first);
        return done != writing_.end() && done->second == item.second;
      });
    } else {
      retry_at_ = clock.mono() + kWriteAgain;
      log.error("sleep.not_kept", "exclusions of nodes are in force but not on disk",
                {{"nodes", writing_.size()}, {"error", written.error()}});
    }
  }
  if (unwritten_.empty() || clock.mono() < retry_at_) return;
  writing_ = unwritten_;
  write_ = store.read([rows = writing_, at_s = unix_s(clock.wall())](StoreFile& file) -> Result<std::string> {
    for (const auto& [node, why] : rows) WATTLE_CHECK(file.sleeps().exclude(node, why, at_s));
    return std::string();
  });
}

}  // namespace wattle::controller::power
