// keys_controller: `wattle keys controller`: creates files that a controller's configuration names and that are
// missing: its key pair, an allow list with an operator's key for root on this machine, and the certificate for
// enrolment. Existing files do not change.
#include <filesystem>
#include <ostream>
#include <sstream>

#include "cli/controller_files.hpp"
#include "cli/declare.hpp"
#include "cli/keys.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/host_name.hpp"
#include "common/http/certificate.hpp"
#include "common/transport/allow_edit.hpp"
#include "common/transport/keys.hpp"

namespace wattle::cli {

namespace {

using transport::KeyPair;
constexpr std::chrono::hours kEnrolCertificateLife{24 * 3650};

bool file_is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

Status make_folder_of(const std::string& path, unsigned mode) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() || file_is_there(folder) ? Status() : make_dirs(folder, mode);
}

Status make_missing(const ControllerFiles& files, std::ostream& out) {
  const std::string public_file = files.key + ".pub";
  if (!file_is_there(files.key)) {
    WATTLE_CHECK(make_folder_of(files.key, 0755));
    WATTLE_CHECK(KeyPair::generate().save(files.key));
    out << files.key << ": the controller's key pair, mode 0400\n";
  }
  if (!file_is_there(public_file)) {
    WATTLE_TRY(const auto pair, KeyPair::load(files.key));
    WATTLE_CHECK(write_file_atomically(public_file, pair.public_key + "\n", 0644));
    out << public_file << ": the controller's public key\n";
  }
  if (!file_is_there(files.allow_list)) {
    const std::string folder = std::filesystem::path(files.key).parent_path().string();
    const std::string operator_file = operator_key_of(files);
    if (!file_is_there(operator_file)) WATTLE_CHECK(KeyPair::generate().save(operator_file));
    WATTLE_TRY(const KeyPair own, KeyPair::load(operator_file));
    const std::string settings = "server: tcp://127.0.0.1:" + std::to_string(files.ask_port) +
                                 "\nkey: " + operator_file + "\nserver_key: " + public_file +
                                 "\nallow_list: " + files.allow_list + "\n";
    if (!file_is_there(folder + "/cli.yaml")) WATTLE_CHECK(write_file_atomically(folder + "/cli.yaml", settings, 0600));
    // The controller's own folder; systemd changes its owner to the controller's user.
    WATTLE_CHECK(make_folder_of(files.allow_list, 0700));
    WATTLE_CHECK(transport::write_list(
        files.allow_list, transport::with_line("# KEY ROLE NAME\n", {own.public_key, "operator", "root"})));
    out << files.allow_list << ": allows root on this machine with key " << operator_file << ", and no other key yet\n";
  }
  if (files.certificate.empty() || file_is_there(files.certificate)) return {};
  WATTLE_TRY(const auto made, http::self_signed({host_name().empty() ? "localhost" : host_name()}, SystemClock().wall(),
                                                kEnrolCertificateLife));
  WATTLE_CHECK(write_file_atomically(files.certificate_key, made.key, 0400));
  WATTLE_CHECK(write_file_atomically(files.certificate, made.certificate, 0644));
  out << files.certificate << ": certificate for enrolment, valid for ten years\n";
  return {};
}

struct ControllerKeysOptions {
  std::string controller_file;
};

Outcome make_controller_keys(const Invocation& invocation, const ControllerKeysOptions& options) {
  WATTLE_TRY(const ControllerFiles files, as_misuse(load_controller_files(options.controller_file)));
  std::ostringstream made;
  const Status done = make_missing(files, made);
  invocation.around.out << made.str();
  WATTLE_CHECK(done);
  if (made.str().empty()) invocation.around.out << options.controller_file << ": all files that it names exist\n";
  return kOk;
}

}  // namespace

void declare_controller_keys(CLI::App& command, Run& chosen) {
  declare_controller_file(command, runs(command, chosen, make_controller_keys).controller_file);
}

}  // namespace wattle::cli
