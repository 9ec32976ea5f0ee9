#include "common/sqlite/copy.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>

namespace wattle::sqlite {

void Copy::Finish::operator()(sqlite3_backup* backup) const { ::sqlite3_backup_finish(backup); }

Result<Copy> Copy::begin(Database& from, const std::string& path) {
  for (const char* suffix : {"", "-wal", "-journal"})
    if (::unlink((path + suffix).c_str()) != 0 && errno != ENOENT) return fail_errno(errno, path + suffix);
  WATTLE_TRY(auto to, Database::make_bare(path));
  sqlite3_backup* const backup = ::sqlite3_backup_init(to->database_.get(), "main", from.database_.get(), "main");
  if (backup == nullptr) return tl::unexpected<Error>(to->error(::sqlite3_extended_errcode(to->database_.get())));
  return Copy(std::move(to), backup);
}

Result<bool> Copy::step(int pages) {
  const int code = ::sqlite3_backup_step(backup_.get(), pages);
  if (code == SQLITE_DONE) return true;
  if (code == SQLITE_OK) return false;
  return tl::unexpected<Error>(to_->error(code));
}

}  // namespace wattle::sqlite
