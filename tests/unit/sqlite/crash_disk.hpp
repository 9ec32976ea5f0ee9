// crash_disk: a disk in memory, as an SQLite VFS, that can lose power, fill up or fail.
// Model    writes stay in a cache until their file is synced; at a power cut each unsynced write is kept, lost or torn,
//          independently and in any combination (so they may as well have been reordered), and so is the file's length;
//          a file that was deleted without syncing the directory may return
// Threads  single owner, but `full` and `broken` may be set by others; one disk at a time has the VFS
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wattle::sqlite::testing {

class CrashDisk {
 public:
  static constexpr const char* kName = "wattle-crash-disk";

  CrashDisk() {
    std::memset(&vfs_, 0, sizeof vfs_);
    sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
    vfs_.iVersion = 2;
    vfs_.szOsFile = sizeof(Handle);
    vfs_.mxPathname = 512;
    vfs_.zName = kName;
    vfs_.pAppData = this;
    vfs_.xOpen = &open_file;
    vfs_.xDelete = &delete_file;
    vfs_.xAccess = &access_file;
    vfs_.xFullPathname = &full_path;
    vfs_.xRandomness = system->xRandomness;
    vfs_.xSleep = [](sqlite3_vfs*, int microseconds) { return microseconds; };
    vfs_.xCurrentTime = system->xCurrentTime;
    vfs_.xCurrentTimeInt64 = system->xCurrentTimeInt64;
    vfs_.xGetLastError = [](sqlite3_vfs*, int, char*) { return 0; };
    sqlite3_vfs_register(&vfs_, 0);
  }
  CrashDisk(const CrashDisk&) = delete;
  CrashDisk& operator=(const CrashDisk&) = delete;
  ~CrashDisk() { sqlite3_vfs_unregister(&vfs_); }

  // All open files stop reading and writing; `chance(n)` draws from [0, n).
  void cut_power(const std::function<unsigned(unsigned)>& chance) {
    ++boot_;
    std::map<std::string, std::shared_ptr<File>> after;
    for (auto& [path, file] : files_) {
      if (file->deleted && !file->deletion_unsynced) continue;
      if (file->deleted && chance(2) == 0) continue;
      auto survivor = std::make_shared<File>();
      survivor->synced = survivor->now = image_after(*file, chance);
      after[path] = std::move(survivor);
    }
    files_ = std::move(after);
  }

  // The bytes that a read returns; empty without the file.
  std::string contents(const std::string& path) const {
    const auto found = files_.find(path);
    return found == files_.end() || found->second->deleted ? std::string() : found->second->now;
  }
  // Damages or creates the file.
  void replace(const std::string& path, const std::string& bytes) {
    auto file = std::make_shared<File>();
    file->synced = file->now = bytes;
    files_[path] = std::move(file);
  }

  std::atomic<bool> full = false;    // writes that make a file longer are refused
  std::atomic<bool> broken = false;  // all writes and syncs fail
  // The disk breaks after this many writes and syncs: the moment of the power cut if cut_power() is next.
  std::optional<std::uint64_t> breaks_after;
  std::uint64_t bytes_written = 0, syncs = 0;
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& [path, file] : files_)
      if (!file->deleted) sum += file->now.size();
    return sum;
  }

 private:
  struct Write {
    std::size_t offset = 0;
    std::string bytes;
    bool truncate = false;  // to `offset`
  };
  struct File {
    std::string synced, now;
    std::vector<Write> unsynced;
    bool deleted = false, deletion_unsynced = false;
  };
  struct Handle {
    sqlite3_file base;
    CrashDisk* disk;
    File* file;
    std::shared_ptr<File>* keep;
    std::uint64_t boot;
  };

  static void apply(std::string& image, const Write& write) {
    if (write.truncate) {
      image.resize(write.offset);
      return;
    }
    if (image.size() < write.offset + write.bytes.size()) image.resize(write.offset + write.bytes.size());
    image.replace(write.offset, write.bytes.size(), write.bytes);
  }

  static std::string image_after(const File& file, const std::function<unsigned(unsigned)>& chance) {
    std::string image = file.synced;
    // None, all, or each independently.
    const unsigned fate_of_all = chance(4);
    for (const Write& write : file.unsynced) {
      const unsigned fate = fate_of_all == 0 ? 0 : fate_of_all == 1 ? 1 : chance(3);
      if (fate == 0) continue;
      Write kept = write;
      // Torn: only some of its sectors were written.
      if (fate == 2 && !kept.truncate && kept.bytes.size() > kSector) {
        const std::size_t sectors = (kept.bytes.size() + kSector - 1) / kSector;
        const std::size_t first = chance(static_cast<unsigned>(sectors));
        const std::size_t length = kSector * (1 + chance(static_cast<unsigned>(sectors - first)));
        kept.offset += first * kSector;
        kept.bytes = kept.bytes.substr(first * kSector, length);
      }
      apply(image, kept);
    }
    return image;
  }

  static constexpr std::size_t kSector = 512;

  static CrashDisk* disk_of(sqlite3_vfs* vfs) { return static_cast<CrashDisk*>(vfs->pAppData); }
  static Handle* handle_of(sqlite3_file* file) { return reinterpret_cast<Handle*>(file); }
  void count_down() {
    if (breaks_after && (*breaks_after)-- == 0) {
      broken = true;
      breaks_after.reset();
    }
  }
  static bool gone(const Handle* handle) { return handle->boot != handle->disk->boot_; }

  static int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* out, int flags, int* out_flags) {
    CrashDisk* disk = disk_of(vfs);
    Handle* handle = handle_of(out);
    out->pMethods = nullptr;
    const std::string path = name != nullptr ? name : "temporary-" + std::to_string(disk->temporaries_++);
    const auto found = disk->files_.find(path);
    std::shared_ptr<File> file = found == disk->files_.end() || found->second->deleted ? nullptr : found->second;
    if (!file) {
      if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
      if (disk->full || disk->broken) return SQLITE_FULL;
      file = disk->files_[path] = std::make_shared<File>();
    }
    handle->disk = disk;
    handle->file = file.get();
    handle->keep = new std::shared_ptr<File>(file);
    handle->boot = disk->boot_;
    if (out_flags != nullptr) *out_flags = flags;
    out->pMethods = methods();
    return SQLITE_OK;
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods table = [] {
      sqlite3_io_methods m;
      std::memset(&m, 0, sizeof m);
      m.iVersion = 1;  // no shared memory: only exclusive locking can have a write-ahead log
      m.xClose = [](sqlite3_file* file) {
        delete handle_of(file)->keep;
        return SQLITE_OK;
      };
      m.xRead = [](sqlite3_file* file, void* out, int count, sqlite3_int64 offset) {
        const Handle* handle = handle_of(file);
        if (gone(handle)) return SQLITE_IOERR_READ;
        const std::string& bytes = handle->file->now;
        const auto from = static_cast<std::size_t>(offset), wanted = static_cast<std::size_t>(count);
        const std::size_t there = from >= bytes.size() ? 0 : std::min(wanted, bytes.size() - from);
        std::memset(out, 0, wanted);
        if (there > 0) std::memcpy(out, bytes.data() + from, there);
        return there == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
      };
      m.xWrite = [](sqlite3_file* file, const void* in, int count, sqlite3_int64 offset) {
        const Handle* handle = handle_of(file);
        handle->disk->count_down();
        if (gone(handle) || handle->disk->broken) return SQLITE_IOERR_WRITE;
        const auto to = static_cast<std::size_t>(offset), size = static_cast<std::size_t>(count);
        if (handle->disk->full && to + size > handle->file->now.size()) return SQLITE_FULL;
        Write write{to, std::string(static_cast<const char*>(in), size), false};
        apply(handle->file->now, write);
        handle->disk->bytes_written += size;
        handle->file->unsynced.push_back(std::move(write));
        return SQLITE_OK;
      };
      m.xTruncate = [](sqlite3_file* file, sqlite3_int64 size) {
        const Handle* handle = handle_of(file);
        if (gone(handle) || handle->disk->broken) return SQLITE_IOERR_TRUNCATE;
        Write write{static_cast<std::size_t>(size), {}, true};
        apply(handle->file->now, write);
        handle->file->unsynced.push_back(std::move(write));
        return SQLITE_OK;
      };
      m.xSync = [](sqlite3_file* file, int) {
        const Handle* handle = handle_of(file);
        handle->disk->count_down();
        if (gone(handle) || handle->disk->broken) return SQLITE_IOERR_FSYNC;
        for (const Write& write : handle->file->unsynced) apply(handle->file->synced, write);
        handle->file->unsynced.clear();
        ++handle->disk->syncs;
        return SQLITE_OK;
      };
      m.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
        const Handle* handle = handle_of(file);
        if (gone(handle)) return SQLITE_IOERR_FSTAT;
        *size = static_cast<sqlite3_int64>(handle->file->now.size());
        return SQLITE_OK;
      };
      m.xLock = [](sqlite3_file*, int) { return SQLITE_OK; };
      m.xUnlock = [](sqlite3_file*, int) { return SQLITE_OK; };
      m.xCheckReservedLock = [](sqlite3_file*, int* reserved) {
        *reserved = 0;
        return SQLITE_OK;
      };
      m.xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; };
      m.xSectorSize = [](sqlite3_file*) { return static_cast<int>(kSector); };
      m.xDeviceCharacteristics = [](sqlite3_file*) { return 0; };
      return m;
    }();
    return &table;
  }

  static int delete_file(sqlite3_vfs* vfs, const char* name, int sync_directory) {
    auto& files = disk_of(vfs)->files_;
    const auto found = files.find(name);
    if (found == files.end() || found->second->deleted) return SQLITE_IOERR_DELETE_NOENT;
    found->second->deleted = true;
    found->second->deletion_unsynced = sync_directory == 0;
    return SQLITE_OK;
  }
  static int access_file(sqlite3_vfs* vfs, const char* name, int, int* result) {
    const auto& files = disk_of(vfs)->files_;
    const auto found = files.find(name);
    *result = found != files.end() && !found->second->deleted ? 1 : 0;
    return SQLITE_OK;
  }
  static int full_path(sqlite3_vfs*, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }

  sqlite3_vfs vfs_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::uint64_t boot_ = 0;
  std::uint64_t temporaries_ = 0;
};

}  // namespace wattle::sqlite::testing
