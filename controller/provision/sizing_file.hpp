// sizing_file: stores the mode of right sizes and the state of each owner, so that both survive a restart.
// Promise  put() is one transaction, and survives a power cut once it has returned
// Format   a row's body is placement::OwnerSizing's; the row without a name has the mode. docs/reference/files.md
// Errors   as common/sqlite/database.hpp
// Threads  single owner
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/sqlite/copy.hpp"
#include "common/sqlite/database.hpp"

namespace wattle::controller {

struct SizingRow {
  std::string owner;  // "shop/Deployment/web"; empty: the mode
  std::string body;   // empty: remove the row
};

class SizingFile {
 public:
  static Result<SizingFile> open_(const std::string& path);
  Status put(std::span<const SizingRow> rows);
  // A row with a wrong hash has no body.
  Result<std::vector<SizingRow>> all();
  Result<std::optional<sqlite::Copy>> copy_to(const std::string& path) { return sqlite::Copy::begin(*database_, path); }

 private:
  explicit SizingFile(std::unique_ptr<sqlite::Database> database) : database_(std::move(database)) {}
  std::unique_ptr<sqlite::Database> database_;
};

}  // namespace wattle::controller
