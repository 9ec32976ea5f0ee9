#include "controller/app.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "common/cmdline/parse.hpp"
#include "common/descriptor_limit.hpp"
#include "common/dir.hpp"
#include "common/error_line.hpp"
#include "common/hangup.hpp"
#include "common/private_memory.hpp"
#include "common/service_notify.hpp"
#include "common/stop_signal.hpp"
#include "common/version.hpp"
#include "controller/controller.hpp"

namespace wattle::controller {
namespace {

int serve(const ControllerConfig& config) {
  const Log log("wattle-controller", config.log_level, LogFormat::automatic);
  auto stop = StopSignal::open_();  // before any thread starts, so that all threads inherit the mask
  if (!stop) {
    log.error("controller.start_failed", "the controller cannot start", {{"error", stop.error()}});
    return 1;
  }
  ignore_hangup_without_terminal();
  const SystemClock clock;
  ServiceNotify notify;
  auto controller = Controller::start(config, clock, log, &notify);
  if (!controller) {
    log.error("controller.start_failed", "the controller cannot start", {{"error", controller.error()}});
    return 1;
  }
  const Endpoints& at = (*controller)->endpoints();
  log.info("controller.started", "the controller is running",
           {{"version", kVersion},
            {"mode", config.mode.text()},
            {"policy", config.policy},
            {"telemetry", at.telemetry},
            {"feed", at.feed},
            {"ask", at.ask},
            {"http_port", at.http_port},
            {"enrol_port", at.enrol_port}});
  notify.ready("running in mode " + config.mode.text());
  while (!stop->wait(std::chrono::hours(1))) {
  }
  notify.stopping();
  log.info("controller.stopping", "the controller is stopping");
  controller->reset();
  return 0;
}

// Programs are in PREFIX/bin, networks in PREFIX/share/wattle/models. Returns an empty text if the kernel does not name
// the program's file.
std::string models_beside_program() {
  const auto self = Dir::open_("/proc/self");
  if (!self) return {};
  const auto program = self->read_link("exe");
  if (!program) return {};
  return (std::filesystem::path(*program).parent_path().parent_path() / "share" / "wattle" / "models").string();
}

}  // namespace

int run_app(int argc, char** argv) {
  CLI::App app("Wattle's controller: places workloads where they cost the least energy, and learns from the results",
               "wattle-controller");
  std::string path = "/etc/wattle/controller.yaml";
  bool check = false;
  app.add_option("--config", path, "Configuration (YAML)")->type_name("FILE")->capture_default_str();
  app.add_flag("--check-config", check, "Check the configuration and exit");
  app.set_version_flag("--version", std::string(kVersion));
  if (const auto code = cmdline::parse(app, argc, argv)) return *code;
  auto config = load_config(path);
  if (!config) {
    std::cerr << error_line("wattle-controller", "", config.error()) << '\n';
    return cmdline::kMisused;
  }
  config->models_dir = models_beside_program();
  config->descriptor_limit = raise_descriptor_limit();
  keep_memory_private();
  if (!check) return serve(*config);
  std::cout << path << ": ok\n";
  return 0;
}

}  // namespace wattle::controller
