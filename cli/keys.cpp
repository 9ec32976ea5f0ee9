// `wattle keys`: key pairs and the allow list, as files on this machine.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <ostream>

#include "cli/declare.hpp"
#include "cli/keys.hpp"
#include "cli/parts.hpp"
#include "cli/settings.hpp"
#include "cli/show.hpp"
#include "cli/table.hpp"
#include "common/dir.hpp"
#include "common/transport/allow_edit.hpp"
#include "common/transport/keys.hpp"

namespace wattle::cli {

namespace {
using transport::allow_lines;
using transport::AllowLine;
using transport::AllowList;
using transport::KeyPair;
using transport::lock_list;
using transport::read_list;
using transport::write_list;

struct AllowListOptions {
  std::string allow_list;  // empty: as configured
};

Result<std::string> allow_list_file(const Invocation& invocation, const AllowListOptions& options) {
  if (!options.allow_list.empty()) return options.allow_list;
  WATTLE_TRY(const Settings settings, load_settings(invocation));
  if (settings.allow_list_file.empty())
    return fail(Errc::not_found, "--allow-list", "no allow list is configured",
                "pass --allow-list FILE, or set allow_list in the configuration");
  return settings.allow_list_file;
}

// Returns the key in the file of that name, or else the text as a key: a path may have 40 characters too.
Result<std::string> key_of(const std::string& text) {
  std::error_code error;
  const bool file = std::filesystem::exists(std::filesystem::symlink_status(text, error));
  if (!file && AllowList::parse(text + " reader x", "key") && text.find_first_of(" \n") == std::string::npos)
    return text;
  auto loaded = transport::load_public_key(text);
  if (loaded) return loaded;
  if (const auto pair = KeyPair::load(text); pair)
    return fail(Errc::malformed, text, "contains a secret key", "use " + text + ".pub");
  return fail(loaded.error().code, text, loaded.error().what,
              "pass a public key of 40 characters or a file that contains one");
}

Status make_pair_at(const std::string& path, std::ostream& out) {
  const std::string public_path = path + ".pub";
  for (const std::string& file : {path, public_path}) {
    std::error_code error;
    const auto status = std::filesystem::symlink_status(file, error);
    if (std::filesystem::exists(status))
      return fail(Errc::conflict, file, "already exists and is not overwritten",
                  "choose another file name or move the file away");
  }
  const KeyPair pair = KeyPair::generate();
  WATTLE_CHECK(pair.save(path));
  WATTLE_CHECK(write_file_atomically(public_path, pair.public_key + "\n", 0644));
  out << path << ": key pair (secret), mode 0400\n" << public_path << ": public key " << pair.public_key << "\n";
  return {};
}

struct NewKeysOptions {
  std::vector<std::string> files;
};

Outcome make_pairs(const Invocation& invocation, const NewKeysOptions& options) {
  for (const std::string& path : options.files) WATTLE_CHECK(make_pair_at(path, invocation.around.out));
  return kOk;
}

Outcome list_keys(const Invocation& invocation, const AllowListOptions& options) {
  WATTLE_TRY(const std::string path, as_misuse(allow_list_file(invocation, options)));
  WATTLE_TRY(const std::string text, as_misuse(read_list(path, false)));
  Json document{{"keys", Json::array()}};
  Table table{{"KEY", "ROLE", "NAME", "NOTE"}, {}};
  const auto entries = allow_lines(text);
  std::map<std::string, int> keys_of;
  for (const AllowLine& entry : entries) ++keys_of[entry.role + "/" + entry.name];
  for (const AllowLine& entry : entries) {
    const int same = keys_of[entry.role + "/" + entry.name];
    document["keys"].push_back(
        {{"key", entry.key}, {"role", entry.role}, {"name", entry.name}, {"keys_of_this_name", same}});
    table.rows.push_back(
        {entry.key, entry.role, entry.name, same > 1 ? "one of " + std::to_string(same) + " keys of this name" : ""});
  }
  WATTLE_CHECK(print(invocation, document, [&](const Json&, const Style& style) -> Result<std::string> {
    return to_text(table, style.colour);
  }));
  return kOk;
}

struct AllowOptions : AllowListOptions {
  std::vector<std::string> words;  // key or file, role, name
};

Outcome allow(const Invocation& invocation, const AllowOptions& options) {
  const std::string &role = options.words[1], &name = options.words[2];
  WATTLE_TRY(const std::string path, as_misuse(allow_list_file(invocation, options)));
  WATTLE_TRY(const std::string key, as_misuse(key_of(options.words[0])));
  const std::string line = key + " " + role + " " + name;
  const auto fine = AllowList::parse(line, "keys allow");
  if (!fine || line.find_first_of("#\r\n", key.size()) != std::string::npos) {
    WATTLE_CHECK(as_misuse(transport::parse_role(role)));
    return misuse({Errc::malformed, name, "is not a valid name", "use letters, digits, '.', '-', '_'"});
  }
  WATTLE_TRY(const auto held, lock_list(path));
  WATTLE_TRY(const std::string text, as_misuse(read_list(path, true)));
  for (const AllowLine& entry : allow_lines(text)) {
    if (entry.key != key) continue;
    if (entry.role != role || entry.name != name)
      return fail(Errc::conflict, path, key + " is " + entry.role + " " + entry.name + " there",
                  "revoke it first: wattle keys revoke " + entry.name);
    invocation.around.out << path << ": has " << line << " already\n";
    return kOk;
  }
  WATTLE_CHECK(write_list(path, transport::with_line(text, {key, role, name})));
  invocation.around.out << path << ": allows " << line << "\n";
  return kOk;
}

std::vector<AllowLine> lines_of(const std::string& text, const std::string& key_or_name) {
  auto lines = allow_lines(text);
  std::erase_if(lines, [&](const AllowLine& line) { return line.key != key_or_name && line.name != key_or_name; });
  return lines;
}

struct RevokeOptions : AllowListOptions {
  std::string whom;
};

Outcome revoke(const Invocation& invocation, const RevokeOptions& options) {
  const std::string& whom = options.whom;
  WATTLE_TRY(const std::string path, as_misuse(allow_list_file(invocation, options)));
  WATTLE_TRY(const auto held, lock_list(path));
  WATTLE_TRY(const std::string text, as_misuse(read_list(path, false)));
  std::vector<AllowLine> gone = lines_of(text, whom);
  // Without such a key or name, the argument may name a file with the key.
  if (const auto key = gone.empty() ? key_of(whom) : Result<std::string>(whom); gone.empty() && key)
    gone = lines_of(text, *key);
  if (gone.empty())
    return fail(
        Errc::not_found, path,
        "'" + whom +
            "' not found: the list has no such key or name, and no file of that name contains a key of the list",
        "list keys with `wattle keys list`");
  std::vector<std::string> keys;
  for (const AllowLine& line : gone) keys.push_back(line.key);
  auto written = write_list(path, transport::without_keys(text, keys));
  if (!written && written.error().code == Errc::exhausted) written = transport::revoke_in_place(path, text, keys);
  WATTLE_CHECK(written);
  for (const AllowLine& entry : gone)
    invocation.around.out << path << ": no longer allows " << entry.key << " " << entry.role << " " << entry.name
                          << "\n";
  return kOk;
}

// Gives a file the owner of another, so that the same program can read a key that root creates.
Status give_owner_of(const std::string& model, const std::string& path) {
  struct stat info {};
  if (::geteuid() != 0) return {};
  if (::stat(model.c_str(), &info) != 0) return fail_errno(errno, model);
  if (::chown(path.c_str(), info.st_uid, info.st_gid) != 0) return fail_errno(errno, path);
  return {};
}

Status make_next(const std::string& path, std::ostream& out) {
  WATTLE_TRY(const KeyPair current, KeyPair::load(path));
  const std::string next_path = path + ".next", public_path = path + ".pub";
  std::error_code ignored;
  if (!std::filesystem::exists(next_path, ignored)) {
    WATTLE_CHECK(KeyPair::generate().save(next_path));
    WATTLE_CHECK(give_owner_of(path, next_path));
  }
  WATTLE_TRY(const KeyPair next, KeyPair::load(next_path));
  WATTLE_CHECK(write_file_atomically(public_path, current.public_key + "\n" + next.public_key + "\n", 0644));
  out << next_path << ": next key pair (secret), mode 0400\n"
      << public_path << ": current and next public key\n"
      << "Now copy " << public_path
      << " to every client as its server_key file (a running client reads it again when a\n"
      << "handshake fails); then: wattle keys rotate --switch " << path << "\n";
  return {};
}

// Makes the next pair the current one. The order of writes leaves a pair that clients know after a crash.
Status switch_to_next(const std::string& path, std::ostream& out) {
  const std::string next_path = path + ".next", previous_path = path + ".previous";
  WATTLE_TRY(const KeyPair current, KeyPair::load(path));
  auto next = KeyPair::load(next_path);
  if (!next && next.error().code == Errc::not_found)
    return fail(Errc::not_found, next_path, "there is no next key pair", "create it with: wattle keys rotate " + path);
  if (!next) return forward_error(next);
  WATTLE_CHECK(current.save(previous_path));
  WATTLE_CHECK(give_owner_of(path, previous_path));
  WATTLE_CHECK(next->save(path));
  WATTLE_CHECK(write_file_atomically(path + ".pub", next->public_key + "\n", 0644));
  if (::unlink(next_path.c_str()) != 0) return fail_errno(errno, next_path);
  out << path << ": is now the key pair in use\n"
      << previous_path << ": the previous key pair; remove it after every client has reconnected\n"
      << "Now restart the controller.\n";
  return {};
}

struct RotateOptions {
  std::string file;
  bool switch_over = false;
};

Outcome rotate(const Invocation& invocation, const RotateOptions& options) {
  WATTLE_TRY(const auto held, lock_list(options.file));
  std::ostream& out = invocation.around.out;
  WATTLE_CHECK(options.switch_over ? switch_to_next(options.file, out) : make_next(options.file, out));
  return kOk;
}

void declare_allow_list(CLI::App& command, AllowListOptions& options) {
  command
      .add_option("--allow-list", options.allow_list,
                  "Controller's allow list (default: allow_list of the configuration)")
      ->type_name("FILE");
}

void declare_keys_new(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, make_pairs);
  command.add_option("FILE", options.files, "File to create")->type_name("FILE")->required();
}

void declare_keys_list(CLI::App& command, Run& chosen) {
  declare_allow_list(command, runs(command, chosen, list_keys));
}

void declare_keys_allow(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, allow);
  declare_allow_list(command, options);
  command.add_option("KEY ROLE NAME", options.words, "Key, role and name")->type_name("FILE")->required()->expected(3);
}

void declare_keys_revoke(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, revoke);
  declare_allow_list(command, options);
  command.add_option("KEY|FILE|NAME", options.whom, "Key, its file, or name whose keys to revoke")
      ->type_name("FILE")
      ->required();
}

void declare_keys_rotate(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, rotate);
  command.add_option("FILE", options.file, "The controller's key file")->type_name("FILE")->required();
  command.add_flag("--switch", options.switch_over, "Replace the current key pair by the next one");
}

constexpr std::array kKeysCommands{
    Command{"new", "Create a key pair: FILE (secret, mode 0400) and FILE.pub", declare_keys_new},
    Command{"list", "Show the allowed keys and their roles", declare_keys_list},
    Command{"allow", "Allow a public key (KEY or its FILE) with a role (agent, shim, reader or operator) and a name",
            declare_keys_allow},
    Command{"revoke", "Remove a key (KEY or its FILE) or all keys of a name from the allow list", declare_keys_revoke},
    Command{"rotate", "Create the controller's next key pair next to FILE; with --switch, replace FILE by it",
            declare_keys_rotate},
    Command{"token", "Manage the tokens with which nodes enrol (enrol.tokens of the controller)", declare_tokens},
    Command{"controller", "Create the key files that the controller's configuration names and that do not exist",
            declare_controller_keys},
    Command{"bootstrap", "Create the keys of a Kubernetes installation as Secrets, unless they exist",
            declare_bootstrap},
    Command{"unpack",
            "Copy the files of a mounted Secret to a folder with mode 0400, and allow the keys of its file `allow`",
            declare_unpack}};
}  // namespace

void declare_keys(CLI::App& command, Run& chosen) { add_commands(command, kKeysCommands, chosen); }

}  // namespace wattle::cli
