// control_file: who changed what the controller does, when and why; the blocks that were measured since; what monitors keep.
// Promise  what add() returned from outlives a power cut; the last change holds what is in force after a restart
// Format   docs/reference/files.md, "The control file"; `kControlSteps` leads from each schema version to the next
// Bounds   kMaxChanges changes and kMaxBlocks blocks, the oldest go; one row a monitor
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
  std::string standing;         // in force from here on, as JSON; empty: nothing changed, somebody only did something
  std::int64_t experiment = 0;  // the change that began the present one; its own id: it began one
  std::string configured;       // what the configuration file said then
};

// The blocks of one experiment, and what was in force; empty: that is not known any more.
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
  // Gives it its id. An experiment of 0 becomes that id.
  Status add(Change& change);
  Status add(std::int64_t experiment, const BlockResult& block);
  // All rows of monitors, of that experiment; those of before go.
  Status keep(std::int64_t experiment, std::int64_t at_s, std::span<const MonitorState> states);
  Result<std::vector<MonitorState>> monitors(std::int64_t experiment);
  Result<std::vector<Change>> changes(std::int64_t newest);  // newest first
  // The newest with a standing, and the newest before `id` with one.
  Result<std::optional<Change>> last();
  Result<std::optional<Change>> before(std::int64_t id);
  Result<std::vector<BlockResult>> blocks(std::int64_t experiment);  // oldest first
  // Of all experiments, the oldest first.
  Result<std::vector<CanaryOf>> canaries(std::int64_t newest_blocks);

 private:
  explicit ControlFile(std::unique_ptr<sqlite::Database> database) : database_(std::move(database)) {}
  Result<std::vector<CanaryOf>> blocks_where(const std::string& which);
  Result<std::vector<Change>> select(const std::string& where, std::int64_t limit);
  std::unique_ptr<sqlite::Database> database_;
};

}  // namespace wattle::controller
