// copy: a database's content in another file, made a part at a time while its owner goes on writing.
// Source   sqlite3_backup: what the owner writes meanwhile is in the copy as well
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
  // Into a file that is made anew, mode 0600. Nobody may rely on it before it is whole.
  static Result<Copy> begin(Database& from, const std::string& path);
  // At most so many pages more. True: it is whole.
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
