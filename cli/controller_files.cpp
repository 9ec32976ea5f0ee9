#include "cli/controller_files.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/view.hpp"
#include "common/parse.hpp"
#include "common/yaml_tree.hpp"

namespace wattle::cli {

namespace {
constexpr std::uint16_t kTelemetryPort = 7460, kAskPort = 7462, kEnrolPort = 7463;  // defaults of the controller

std::uint16_t port_of(const View& socket, std::uint16_t otherwise) {
  const std::string endpoint = socket["endpoint"].text_or("");
  return parse::integer<std::uint16_t>(std::string_view(endpoint).substr(endpoint.rfind(':') + 1)).value_or(otherwise);
}
}  // namespace

void declare_controller_file(CLI::App& command, std::string& path) {
  path = kControllerFile;
  command.add_option("--config", path, "Controller's configuration")->type_name("FILE")->capture_default_str();
}

Result<ControllerFiles> load_controller_files(const std::string& path) {
  WATTLE_TRY(const auto documents, load_yaml(path));
  if (documents.empty()) return fail(Errc::malformed, path, "is empty", "see systemd/etc/controller.yaml");
  const View root(documents.front());
  ControllerFiles out;
  out.key = root["key"].text_or("");
  out.allow_list = root["allow_list"].text_or("");
  out.data_dir = root["data_dir"].text_or("");
  out.store = root["store"]["path"].text_or("");
  for (const auto& [name, value] : {std::pair{"key", out.key}, std::pair{"allow_list", out.allow_list}})
    if (value.empty())
      return fail(Errc::not_found, path, std::string("does not set ") + name, "set the path of the file");
  out.telemetry_port = port_of(root["telemetry"], kTelemetryPort);
  out.ask_port = port_of(root["ask"], kAskPort);
  const View enrol = root["enrol"];
  out.tokens = enrol["tokens"].text_or("");
  out.enrol_address = enrol["address"].text_or("127.0.0.1");
  out.enrol_port = static_cast<std::uint16_t>(enrol["port"].number().value_or(kEnrolPort));
  out.certificate = enrol["tls"]["certificate"].text_or("");
  out.certificate_key = enrol["tls"]["key"].text_or("");
  return out;
}

std::string operator_key_of(const ControllerFiles& files) {
  return (std::filesystem::path(files.key).parent_path() / "operator.key").string();
}

}  // namespace wattle::cli
