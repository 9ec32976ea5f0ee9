// backup: `wattle backup FILE` and `wattle restore FILE`: saves a controller's persistent state in one file. A running
// controller copies its databases itself, because only it may read them; the other files are always replaced as a
// whole. Restore requires a stopped controller.
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>
#include <set>

#include "cli/archive.hpp"
#include "cli/controller_files.hpp"
#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/process.hpp"
#include "cli/show.hpp"
#include "cli/view.hpp"
#include "common/dir.hpp"
#include "common/parse.hpp"
#include "common/state_lock.hpp"
#include "common/version.hpp"

namespace wattle::cli {

namespace {

namespace fs = std::filesystem;
constexpr std::string_view kControlName = "control.db", kStoreName = "store.db", kSizesName = "right-sizes.db",
                           kOperatorName = "keys/operator.key";
// Folders in data_dir with networks, each loaded by its newest file and therefore replaced as a whole.
constexpr std::array<std::string_view, 3> kFolders{"checkpoints", "provisioning", "provisioning-drpc"};
constexpr std::chrono::minutes kCopyPatience{30};
constexpr const char* kControllerUser = "wattle-controller";

struct Kept {
  std::string name, path;
  bool copied = false;  // by the controller: while it runs, no other process may read the file
};

// Lists the controller's persistent files, existing or not, without those of folders.
std::vector<Kept> kept_files(const ControllerFiles& files) {
  std::vector<Kept> out{{std::string(kStoreName), files.store, true},
                        {std::string(kControlName), files.data_dir + "/" + std::string(kControlName), true},
                        {std::string(kSizesName), files.data_dir + "/" + std::string(kSizesName), true},
                        {"cluster-model", files.data_dir + "/cluster-model"},
                        {"allow", files.allow_list},
                        {"enrol-tokens", files.tokens},
                        {"keys/controller.key", files.key},
                        {"keys/controller.key.pub", files.key + ".pub"},
                        {"keys/controller.pub", (fs::path(files.key).parent_path() / "controller.pub").string()},
                        {"keys/enrol.pem", files.certificate},
                        {"keys/enrol.key", files.certificate_key},
                        {std::string(kOperatorName), operator_key_of(files)}};
  std::erase_if(out, [](const Kept& one) { return one.path.empty(); });
  return out;
}

// Returns the folder of such a member; empty: it is in none.
std::string_view folder_of(std::string_view name) {
  for (const std::string_view folder : kFolders)
    if (name.starts_with(folder) && name.rfind('/') == folder.size()) return folder;
  return {};
}

Result<std::string> path_of(const ControllerFiles& files, const std::string& name, const std::string& archive) {
  if (!folder_of(name).empty()) return files.data_dir + "/" + name;
  for (const Kept& one : kept_files(files))
    if (one.name == name) return one.path;
  return fail(Errc::conflict, archive, "contains " + name + ", but the configuration sets no path for this file",
              "set the path there, as on the machine of the backup");
}

// Skips a checkpoint that is removed meanwhile because of newer ones.
Result<std::vector<Source>> open_sources(const ControllerFiles& files, const std::string& copies) {
  std::vector<Source> sources;
  const auto add = [&](const std::string& name, const std::string& path) -> Status {
    auto file = open_file(path);
    if (file) sources.push_back({name, std::move(*file)});
    if (!file && file.error().code != Errc::not_found) return tl::unexpected<Error>(file.error());
    return {};
  };
  std::set<std::string> added;  // `controller.pub` may also be the public half of the key
  for (const Kept& one : kept_files(files))
    if (added.insert(one.path).second) WATTLE_CHECK(add(one.name, one.copied ? copies + "/" + one.name : one.path));
  std::vector<std::string> names;
  std::error_code error;
  for (const std::string_view folder : kFolders)
    for (const auto& entry : fs::directory_iterator(files.data_dir + "/" + std::string(folder), error))
      if (entry.is_regular_file(error)) names.push_back(std::string(folder) + "/" + entry.path().filename().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    if (is_member_name(name)) WATTLE_CHECK(add(name, files.data_dir + "/" + name));
  return sources;
}

struct BackupOptions {
  std::string file, controller_file;
};

Result<int> back_up(const Invocation& invocation, Controller& controller, const BackupOptions& options) {
  const std::string& to = options.file;
  WATTLE_TRY(const ControllerFiles files, load_controller_files(options.controller_file));
  if (files.data_dir.empty() || files.store.empty())
    return fail(Errc::not_found, options.controller_file, "data_dir or store.path is not set",
                "this controller keeps no state on disk, so there is no state to back up");
  WATTLE_CHECK(refuse_taken(to));
  // Checks for a controller first with the usual timeout instead of that of a copy.
  WATTLE_CHECK(controller.ask("status", {}));
  WATTLE_TRY(const Json made, controller.ask("backup", {}, kCopyPatience));
  const std::string copies = View(made)["folder"].text_or("");
  if (copies.empty())
    return fail(Errc::malformed, "the controller", "the answer contains no folder",
                "check that the controller has the same version as wattle");
  const auto written = [&]() -> Result<Manifest> {
    WATTLE_TRY(const auto sources, open_sources(files, copies));
    return write_archive(to, std::string(kVersion), unix_now_s(), sources);
  }();
  std::error_code ignored;
  for (const std::string_view name : {kStoreName, kControlName, kSizesName})
    fs::remove(copies + "/" + std::string(name), ignored);
  if (!written) return tl::unexpected<Error>(written.error());
  std::uint64_t bytes = 0;
  for (const Member& one : written->files) bytes += one.bytes;
  invocation.around.out << to << ": " << written->files.size() << " files, " << cli::bytes(static_cast<double>(bytes))
                        << ", mode 0600. The file contains the keys of the controller and the operator: store it where "
                           "only root can read it\n";
  return kOk;
}

Status refuse_newer(const Manifest& manifest, const std::string& archive) {
  const auto numbers = [](const std::string& version) {
    std::array<int, 3> out{};
    std::size_t at = 0;
    for (int& one : out) {
      const std::size_t end = std::min(version.find('.', at), version.size());
      one = parse::integer<int>(std::string_view(version).substr(at, end - at)).value_or(0);
      at = std::min(end + 1, version.size());
    }
    return out;
  };
  if (numbers(manifest.version) <= numbers(std::string(kVersion))) return {};
  return fail(
      Errc::unsupported, archive,
      "was written by Wattle " + manifest.version + ", which is newer than this version, " + std::string(kVersion),
      "install that version, then restore");
}

// Gives the path to the controller's user, if it exists: systemd changes the owner of the folder, not of its existing
// content.
Status give_away(const std::string& path) {
  const passwd* const user = ::geteuid() == 0 ? ::getpwnam(kControllerUser) : nullptr;
  if (user != nullptr && ::lchown(path.c_str(), user->pw_uid, user->pw_gid) != 0) return fail_errno(errno, path);
  return {};
}

// Uses the descriptor: the controller's user owns the folder, and could replace the file meanwhile.
Status give_away(int fd, const std::string& path) {
  const passwd* const user = ::geteuid() == 0 ? ::getpwnam(kControllerUser) : nullptr;
  if (user != nullptr && ::fchown(fd, user->pw_uid, user->pw_gid) != 0) return fail_errno(errno, path);
  return {};
}

Status make_own_folder(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) return {};
  WATTLE_CHECK(make_dirs(folder, 0700));
  return give_away(folder);
}

// Unpacks files next to their destinations, and renames them one after another once all are complete.
class Unpacked {
 public:
  // Learned state and right sizes are also moved aside, even if the archive has none.
  Unpacked(const ControllerFiles& files, std::string archive) : files_(files), archive_(std::move(archive)) {
    const std::string in = files.data_dir + "/", sizes = in + std::string(kSizesName);
    old_ = {in + "cluster-model", sizes, sizes + "-wal"};
    for (const std::string_view folder : kFolders) old_.insert(in + std::string(folder));
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;
  ~Unpacked() {
    for (const Place& one : places_) ::unlink(one.part.c_str());
  }

  Status take(const Member& member, std::string_view bytes) {
    if (bytes.empty()) return begin(member);
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(to_.get(), bytes.data(), bytes.size());
      if (wrote < 0 && errno != EINTR) return fail_errno(errno, places_.back().part);
      if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
  }
  // Renames existing files with the suffix `aside`. The log of a replaced file moves with it.
  Status put(const std::string& aside) {
    WATTLE_CHECK(settle());
    for (const std::string& path : old_)
      if (::rename(path.c_str(), (path + aside).c_str()) != 0 && errno != ENOENT) return fail_errno(errno, path);
    for (const Place& one : places_) {
      WATTLE_CHECK(make_own_folder(fs::path(one.path).parent_path().string()));
      if (::rename(one.part.c_str(), one.path.c_str()) != 0) return fail_errno(errno, one.path);
    }
    return {};
  }

 private:
  struct Place {
    std::string part, path;
  };

  Status begin(const Member& member) {
    WATTLE_CHECK(settle());
    WATTLE_TRY(const std::string path, path_of(files_, member.name, archive_));
    const std::string_view within = folder_of(member.name);
    const fs::path folder = within.empty() ? fs::path(path).parent_path() : fs::path(files_.data_dir);
    WATTLE_CHECK(make_own_folder(folder.string()));
    const std::string prefix = within.empty() ? std::string() : std::string(within) + ".";
    const std::string part = (folder / (prefix + fs::path(path).filename().string())).string() + ".restored";
    if (std::ranges::any_of(places_, [&](const Place& one) { return one.path == path || one.part == part; }))
      return fail(Errc::conflict, archive_,
                  "contains " + member.name + ", but another file of the backup has the same path: " + path,
                  "set different paths in the configuration, as on the machine of the backup");
    ::unlink(part.c_str());  // left by an interrupted restore
    to_ = Fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode_of(member.name)));
    if (!to_.valid()) return fail_errno(errno, part);
    places_.push_back({part, path});
    if (member.name != kOperatorName) WATTLE_CHECK(give_away(to_.get(), part));  // the operator's key stays root's
    if (within.empty()) old_.insert({path, path + "-wal", path + "-open"});
    return {};
  }
  static unsigned mode_of(const std::string& name) {
    return name == "allow" || name == "enrol-tokens" || name.ends_with(".pub") || name.ends_with(".pem") ? 0644
           : name.starts_with("keys/")                                                                   ? 0400
                                                                                                         : 0600;
  }
  Status settle() {
    if (to_.valid() && ::fsync(to_.get()) != 0) return fail_errno(errno, places_.back().part);
    to_ = Fd();
    return {};
  }

  const ControllerFiles& files_;
  std::string archive_;
  std::vector<Place> places_;
  std::set<std::string> old_;
  Fd to_;
};

struct RestoreOptions : BackupOptions {
  bool replace = false;
};

Outcome restore(const Invocation& invocation, const RestoreOptions& options) {
  const std::string& archive = options.file;
  WATTLE_TRY(const ControllerFiles files, load_controller_files(options.controller_file));
  // Reads and checks the whole archive before any change.
  WATTLE_TRY(const Manifest manifest, read_archive(archive, [](const Member&, std::string_view) { return Status(); }));
  WATTLE_CHECK(refuse_newer(manifest, archive));
  if (files.data_dir.empty())
    return fail(Errc::not_found, options.controller_file, "data_dir is not set", "set it: restored files go there");
  WATTLE_CHECK(make_own_folder(files.data_dir));
  // Prevents a controller from starting on this data until the end.
  WATTLE_TRY(const StateLock lock, StateLock::take(files.data_dir));
  WATTLE_CHECK(give_away(lock.path()));
  std::string there;
  for (const Kept& one : kept_files(files)) {
    std::error_code error;
    if (there.empty() && fs::exists(one.path, error)) there = one.path;
  }
  if (!there.empty() && !options.replace)
    return fail(Errc::conflict, there, "the file exists and would be replaced",
                "wattle restore --replace " + archive + ", which keeps existing files under other names");
  const std::string aside = ".replaced-" + std::to_string(unix_now_s());
  Unpacked unpacked(files, archive);
  WATTLE_TRY(const Manifest again, read_archive(archive, [&](const Member& member, std::string_view bytes) {
               return unpacked.take(member, bytes);
             }));
  WATTLE_CHECK(unpacked.put(aside));
  invocation.around.out << archive << ": " << again.files.size() << " files of Wattle " << again.version << ", "
                        << utc_s(static_cast<double>(again.made_s)) << ", restored\n";
  if (!there.empty()) invocation.around.out << "the previous files were renamed with the suffix " << aside << "\n";
  invocation.around.out << "start the controller: systemctl start wattle-controller\n";
  return kOk;
}

}  // namespace

void declare_backup(CLI::App& command, Run& chosen) {
  auto& options = runs<BackupOptions>(command, chosen, [](const Invocation& invocation, const BackupOptions& given) {
    return with_controller(invocation, [&](Controller& controller) { return back_up(invocation, controller, given); });
  });
  command.add_option("FILE", options.file, "Backup file; must not exist yet, and is created with mode 0600")
      ->type_name("FILE")
      ->required();
  declare_controller_file(command, options.controller_file);
}

void declare_restore(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, restore);
  command.add_option("FILE", options.file, "File that `wattle backup` wrote")->type_name("FILE")->required();
  command.add_flag("--replace", options.replace, "Replace existing files, and keep them under other names");
  declare_controller_file(command, options.controller_file);
}

}  // namespace wattle::cli
