#include "controller/app.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <iostream>

#include "common/dir.hpp"
#include "common/version.hpp"
#include "controller/controller.hpp"

namespace wattle::controller {
namespace {

// Before any thread starts, so that all inherit the mask.
Result<Fd> block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return fail_errno(errno, "signals");
  Fd fd(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "signalfd");
  return fd;
}

int serve(const ControllerConfig& config) {
  const Log log("wattle-controller", config.log_level, config.log_format);
  const auto signals = block_signals();
  if (!signals) {
    log.error("cannot start", {{"error", signals.error()}});
    return 1;
  }
  const SystemClock clock;
  auto controller = Controller::start(config, clock, log);
  if (!controller) {
    log.error("cannot start", {{"error", controller.error()}});
    return 1;
  }
  const Endpoints& at = (*controller)->endpoints();
  log.info("controller runs", {{"version", kVersion},
                               {"mode", to_string(config.mode)},
                               {"policy", placement::to_string(config.decide.policy)},
                               {"telemetry", at.telemetry},
                               {"feed", at.feed},
                               {"ask", at.ask},
                               {"http_port", at.http_port}});
  signalfd_siginfo info{};
  while (read(signals->get(), &info, sizeof info) < 0 && errno == EINTR) {
  }
  log.info("controller stops", {{"signal", info.ssi_signo}});
  controller->reset();
  return 0;
}

}  // namespace

int run_app(int argc, char** argv) {
  CLI::App app("wattle-controller: learns where to place pods and says so");
  std::string path = "/etc/wattle/controller.yaml";
  bool check = false;
  app.add_option("--config", path, "configuration file")->capture_default_str();
  app.add_flag("--check-config", check, "tell every mistake in the configuration and exit");
  app.set_version_flag("--version", std::string(kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto config = load_config(path);
  if (!config) {
    std::cerr << config.error().message() << '\n';
    return 1;
  }
  if (!check) return serve(*config);
  std::cout << path << ": fine\n";
  return 0;
}

}  // namespace wattle::controller
