// keys_controller: `wattle keys controller`: creates files that a controller's configuration names and that are
// missing: its key pair, an allow list with an operator's key for root on this machine, and the certificate for
// enrolment. Existing files do not change.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "cli/controller_files.hpp"
#include "cli/keys.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
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

std::string certificate_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0 ? std::string(name.data()) : "localhost";
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
  WATTLE_TRY(const auto made, http::self_signed({certificate_name()}, SystemClock().wall(), kEnrolCertificateLife));
  WATTLE_CHECK(write_file_atomically(files.certificate_key, made.key, 0400));
  WATTLE_CHECK(write_file_atomically(files.certificate, made.certificate, 0644));
  out << files.certificate << ": certificate for enrolment, valid for ten years\n";
  return {};
}

int run_controller_keys(const Invocation& invocation) {
  const auto files = load_controller_files(invocation.arguments.controller_file);
  if (!files) return complain(invocation, files.error(), kUsage);
  std::ostringstream told;
  const Status made = make_missing(*files, told);
  invocation.around.out << told.str();
  if (!made) return complain(invocation, made.error(), kProblem);
  if (told.str().empty())
    invocation.around.out << invocation.arguments.controller_file << ": all files that it names exist\n";
  return kOk;
}

constexpr KeysAction kControllerAction{
    "controller", "Create the key files that the controller's configuration names and that do not exist",
    run_controller_keys};

}  // namespace

void declare_controller_keys(CLI::App& keys, Arguments& arguments) {
  auto* sub = keys.add_subcommand(std::string(kControllerAction.name), std::string(kControllerAction.help));
  sub->fallthrough();
  sub->callback([&arguments] { arguments.action = kControllerAction.name; });
  sub->add_option("--config", arguments.controller_file, "Controller's configuration")
      ->type_name("FILE")
      ->capture_default_str();
}

const KeysAction* controller_action(std::string_view name) {
  return name == kControllerAction.name ? &kControllerAction : nullptr;
}

}  // namespace wattle::cli
