// control_file: stores the changes of the controller's spec (author, time, reason), the blocks measured since, and the
// state of monitors.
// Promise  a row whose add() returned survives a power cut; the last change defines the spec in force after a restart
// Format   docs/reference/files.md, "The control file"; `kControlSteps` migrates each schema version to the next
// Bounds   kMaxChanges changes and kMaxBlocks blocks, the oldest are dropped; one row per monitor
// Errors   as common/sqlite/database.hpp
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "common/sqlite/copy.hpp"
#include "common/sqlite/database.hpp"
#include "controller/rollout/effect.hpp"
#include "controller/rollout/monitor_state.hpp"

namespace wattle::controller {

struct Change {
  std::int64_t id = 0;
  std::int64_t at_s = 0;  // Unix seconds
  std::string who;        // "operator/name", "configuration", "guard"
  std::string what;       // "mode shadow -> canary:10%"
  std::string why;
  std::string standing;         // new spec in force, as JSON; empty if the entry changed no spec
  std::int64_t experiment = 0;  // the change that started the current experiment; its own id if it started one
  std::string configured;       // content of the configuration file at that time
};

// Blocks of one experiment, and its spec; empty if the spec is no longer known.
struct CanaryOf {
  std::int64_t experiment = 0;
  std::string standing;
  std::vector<BlockResult> blocks;  // oldest first
};

std::span<const char* const> control_steps();

class ControlFile {
 public:
  static constexpr std::int64_t kMaxChanges = 10'000, kMaxBlocks = 20'000;
  static Result<ControlFile> open_(const std::string& path);

  Result<sqlite::Copy> copy_to(const std::string& path) { return sqlite::Copy::begin(*database_, path); }
  // Sets the id of the change. An experiment of 0 becomes that id.
  Status add(Change& change);
  Status add(std::int64_t experiment, const BlockResult& block);
  // Replaces all rows of monitors by those of that experiment.
  Status keep(std::int64_t experiment, std::int64_t at_s, std::span<const MonitorState> states);
  Result<std::vector<MonitorState>> monitors(std::int64_t experiment);
  Result<std::vector<Change>> changes(std::int64_t newest);  // newest first
  // last(): the newest change with a spec. before(): the newest one with a spec before `id`.
  Result<std::optional<Change>> last();
  Result<std::optional<Change>> before(std::int64_t id);
  Result<std::vector<BlockResult>> blocks(std::int64_t experiment);  // oldest first
  // Returns the blocks of all experiments, the oldest first.
  Result<std::vector<CanaryOf>> canaries(std::int64_t newest_blocks);

 private:
  explicit ControlFile(std::unique_ptr<sqlite::Database> database) : database_(std::move(database)) {}
  Result<std::vector<CanaryOf>> blocks_where(const std::string& which);
  Result<std::vector<Change>> select(const std::string& where, std::int64_t limit);
  std::unique_ptr<sqlite::Database> database_;
};

}  // namespace wattle::controller
