#include "common/sqlite/database.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "common/dir.hpp"

namespace wattle::sqlite {

namespace {
constexpr int kBusyTimeoutMs = 1000;

Error explain(int code, int system_error, const std::string& path, std::string what) {
  const std::string folder = path.substr(0, path.find_last_of('/'));
  if (system_error == ENOSPC || system_error == EDQUOT) code = SQLITE_FULL;
  if (system_error == EACCES || system_error == EPERM || system_error == EROFS) code = SQLITE_READONLY;
  if (system_error != 0) what += std::string(": ") + std::strerror(system_error);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {Errc::exhausted, path, what, "free space on the file system of " + folder};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {Errc::malformed, path, "is damaged: " + what, "move it away; the program then creates a new one"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Errc::conflict, path, "another process uses it",
              "stop that process, or use a separate directory for each"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return {Errc::denied, path, what,
              system_error == EROFS ? "mount the file system of " + folder + " writable, or choose another folder"
                                    : "grant this process's user write access to " + folder + " and to the file"};
    case SQLITE_CANTOPEN:
      return {system_error == ENOENT ? Errc::not_found : Errc::io, path, what,
              "create the directory " + folder + ", writable for this process's user"};
    case SQLITE_NOMEM:
      return {Errc::exhausted, path, what, "give this process more memory"};
    default:
      return {Errc::io, path, what, "check the disk (dmesg), then restart"};
  }
}
// Creates the file with mode 0600 if it does not exist; SQLite gives its log the same mode. Rejects anything that is
// not a regular file, because SQLite's error for a FIFO explains nothing.
Status keep_private(const std::string& path) {
  for (const std::string& file : {path, path + "-wal"}) {
    WATTLE_CHECK(check_regular(file));
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0 && (info.st_mode & 077U) != 0) ::chmod(file.c_str(), 0600);
  }
  const Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  // SQLite would try to read a file that cannot be made, and report that it is missing.
  const int why = made.valid() ? 0 : errno;
  if (why == ENOSPC || why == EDQUOT || why == EROFS)
    return tl::unexpected<Error>(explain(SQLITE_CANTOPEN, why, path, "cannot be opened for writing"));
  return {};
}
}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }

void Statement::bind(int parameter, std::int64_t value) { ::sqlite3_bind_int64(statement_.get(), parameter, value); }

void Statement::bind(int parameter, std::string_view blob) {
  ::sqlite3_bind_blob64(statement_.get(), parameter, blob.data(), blob.size(), SQLITE_STATIC);
}

void Statement::bind_text(int parameter, std::string_view text) {
  ::sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind_row(const Statement& row) {
  for (int column = 0; column < ::sqlite3_column_count(row.statement_.get()); ++column)
    ::sqlite3_bind_value(statement_.get(), column + 1, ::sqlite3_column_value(row.statement_.get(), column));
}

Result<bool> Statement::step() {
  const int code = ::sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const Error error = database_->error(code);
  reset();
  return tl::unexpected<Error>(error);
}

Status Statement::run() {
  for (;;) {
    WATTLE_TRY(const bool row, step());
    if (row) continue;
    reset();
    return {};
  }
}

void Statement::reset() { ::sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return ::sqlite3_column_int64(statement_.get(), column); }

std::string_view Statement::blob(int column) const {
  const void* data = ::sqlite3_column_blob(statement_.get(), column);
  const int size = ::sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string_view{}
                         : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

Result<std::unique_ptr<Database>> Database::open_(const std::string& path, const DatabaseOptions& options,
                                                  std::span<const char* const> steps) {
  if (options.vfs.empty()) WATTLE_CHECK(keep_private(path));
  std::unique_ptr<Database> opened(new Database(path));
  sqlite3* handle = nullptr;
  const int code = ::sqlite3_open_v2(
      path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      options.vfs.empty() ? nullptr : options.vfs.c_str());
  opened->database_.reset(handle);
  if (code != SQLITE_OK) return tl::unexpected<Error>(opened->error(code));
  WATTLE_CHECK(opened->set_up(options));
  WATTLE_CHECK(opened->check(options.quick_check));
  WATTLE_CHECK(opened->migrate(steps));
  return opened;
}

Result<std::unique_ptr<Database>> Database::open_plain(const std::string& path) {
  std::unique_ptr<Database> opened(new Database(path));
  sqlite3* handle = nullptr;
  const int code = ::sqlite3_open_v2(path.c_str(), &handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  opened->database_.reset(handle);
  if (code != SQLITE_OK) return tl::unexpected<Error>(opened->error(code));
  return opened;
}

Result<std::unique_ptr<Database>> Database::open_damaged(const std::string& path) {
  WATTLE_TRY(auto opened, open_plain(path));
  WATTLE_CHECK(opened->run("PRAGMA locking_mode=EXCLUSIVE"));
  // Otherwise SQLite reads nothing from a truncated file.
  WATTLE_CHECK(opened->run("PRAGMA writable_schema=ON"));
  return opened;
}

Result<std::unique_ptr<Database>> Database::make_bare(const std::string& path) {
  WATTLE_CHECK(keep_private(path));
  WATTLE_TRY(auto opened, open_plain(path));
  WATTLE_CHECK(opened->run("PRAGMA journal_mode=OFF"));
  WATTLE_CHECK(opened->run("PRAGMA synchronous=OFF"));
  return opened;
}

// Sets exclusive locking first: then the log's index is in this process's memory instead of a shared file, and the lock
// is held until the end.
Status Database::set_up(const DatabaseOptions& options) {
  ::sqlite3_busy_timeout(database_.get(), kBusyTimeoutMs);
  WATTLE_CHECK(run("PRAGMA locking_mode=EXCLUSIVE"));
  // EXTRA acts like FULL, and also makes the removal of the journal durable, which turns the log on.
  WATTLE_CHECK(run("PRAGMA synchronous=EXTRA"));
  WATTLE_CHECK(run("PRAGMA page_size=" + std::to_string(options.page_bytes)));
  WATTLE_CHECK(run("PRAGMA cache_size=-" + std::to_string(options.cache_kib)));
  WATTLE_CHECK(run("PRAGMA temp_store=MEMORY"));
  {
    WATTLE_TRY(auto statement, prepare("PRAGMA journal_mode=WAL"));
    WATTLE_TRY(const bool row, statement.step());
    if (!row || statement.blob(0) != "wal")
      return fail(Errc::unsupported, path_, "this file system does not support a write-ahead log", "use a local disk");
  }
  WATTLE_CHECK(run("PRAGMA wal_autocheckpoint=0"));
  WATTLE_CHECK(run("PRAGMA cell_size_check=ON"));
  WATTLE_TRY(const auto page_bytes, integer("PRAGMA page_size"));
  page_bytes_ = static_cast<std::uint64_t>(page_bytes);
  // Takes the lock now, so that two processes detect each other before their first commit.
  return run("BEGIN IMMEDIATE; COMMIT");
}

Status Database::check(bool quick) {
  WATTLE_TRY(auto statement, prepare(quick ? "PRAGMA quick_check(1)" : "PRAGMA integrity_check(1)"));
  WATTLE_TRY(const bool row, statement.step());
  const std::string found = row ? std::string(statement.blob(0)) : "nothing";
  if (found == "ok") return {};
  return tl::unexpected<Error>(explain(SQLITE_CORRUPT, 0, path_, found));
}

Status Database::migrate(std::span<const char* const> steps) {
  WATTLE_TRY(const auto version, integer("PRAGMA user_version"));
  const auto known = static_cast<std::int64_t>(steps.size());
  if (version < 0 || version > known)
    return fail(Errc::unsupported, path_,
                "has schema version " + std::to_string(version) + ", this build supports " + std::to_string(known),
                "use the newer version, or move the file away");
  if (version == known) return {};
  WATTLE_TRY(auto transaction, Transaction::begin(*this));
  for (std::int64_t at = version; at < known; ++at) WATTLE_CHECK(run(steps[static_cast<std::size_t>(at)]));
  WATTLE_CHECK(run("PRAGMA user_version=" + std::to_string(known)));
  return transaction.commit();
}

Status Database::run(const std::string& sql) {
  const int code = ::sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<Error>(error(code));
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = ::sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<Error>(error(code));
  return Statement(statement, *this);
}

Result<std::int64_t> Database::integer(const std::string& sql) {
  WATTLE_TRY(auto statement, prepare(sql));
  WATTLE_TRY(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

Status Database::checkpoint() {
  const int code = ::sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<Error>(error(code));
  return {};
}

Status Database::empty_log() {
  const int code = ::sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<Error>(error(code));
  return {};
}

std::uint64_t Database::pages_written() const {
  int now = 0, most = 0;
  ::sqlite3_db_status(database_.get(), SQLITE_DBSTATUS_CACHE_WRITE, &now, &most, 0);
  return static_cast<std::uint64_t>(now);
}

std::uint64_t Database::page_count() {
  const auto pages = integer("PRAGMA page_count");
  return pages ? static_cast<std::uint64_t>(*pages) : 0;
}

std::uint64_t Database::pages_in_use() {
  const auto idle = integer("PRAGMA freelist_count");
  return page_count() - (idle ? static_cast<std::uint64_t>(*idle) : 0);
}

Error Database::error(int code) const {
  if (!database_) return explain(code, 0, path_, "cannot be opened");
  const bool system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_FULL;
  return explain(code, system ? ::sqlite3_system_errno(database_.get()) : 0, path_, ::sqlite3_errmsg(database_.get()));
}

Result<Transaction> Transaction::begin(Database& database) {
  WATTLE_CHECK(database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // Some errors have already rolled back; then this does nothing.
  if (database_ != nullptr) static_cast<void>(database_->run("ROLLBACK"));
}

Status Transaction::commit() {
  WATTLE_CHECK(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace wattle::sqlite
