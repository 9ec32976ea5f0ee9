// copy: copies a database into another file, one part at a time, while its owner keeps writing.
// Source   sqlite3_backup: the copy includes what the owner writes in the meantime
// Errors   as database.hpp, naming the copy
// Threads  that of the database, which must outlive it
#pragma once

#include <memory>
#include <string>

#include "common/sqlite/database.hpp"

struct sqlite3_backup;

namespace wattle::sqlite {

class Copy {
 public:
  // Starts a copy into a new file with mode 0600. The file must not be used until the copy is complete.
  static Result<Copy> begin(Database& from, const std::string& path);
  // Copies at most `pages` more pages. Returns true when the copy is complete.
  Result<bool> step(int pages);

 private:
  struct Finish {
    void operator()(sqlite3_backup* backup) const;
  };
  Copy(std::unique_ptr<Database> to, sqlite3_backup* backup) : to_(std::move(to)), backup_(backup) {}
  std::unique_ptr<Database> to_;  // outlives backup_
  std::unique_ptr<sqlite3_backup, Finish> backup_;
};

}  // namespace wattle::sqlite
