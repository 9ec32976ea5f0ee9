#include "shim/app.hpp"

#include <pthread.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <utility>

#include "common/boot_time.hpp"
#include "common/cmdline/parse.hpp"
#include "common/descriptor_limit.hpp"
#include "common/error_line.hpp"
#include "common/hangup.hpp"
#include "common/private_memory.hpp"
#include "common/service_notify.hpp"
#include "common/version.hpp"
#include "shim/config.hpp"
#include "shim/service.hpp"
#include "shim/standby.hpp"

namespace wattle::shim {

namespace {
int complain(const Error& error, int code = 1) {
  std::fprintf(stderr, "%s\n", error_line("wattle-shim", "", error).c_str());
  return code;
}
}  // namespace

int run_app(int argc, char** argv) {
  CLI::App app{"Wattle's shim: a kube-scheduler extender that returns the controller's scores", "wattle-shim"};
  app.set_version_flag("--version", std::string(kVersion));
  std::string file;
  bool check = false;
  app.add_option("--config", file, "Configuration (YAML)")->type_name("FILE")->required();
  app.add_flag("--check-config", check, "Check the configuration and exit");
  if (const auto code = cmdline::parse(app, argc, argv)) return *code;

  const auto config = load_config(file);
  if (!config) return complain(config.error(), cmdline::kMisused);
  if (check) {
    std::printf("%s: ok\n", file.c_str());
    return 0;
  }

  keep_memory_private();
  raise_descriptor_limit();
  const Log log("wattle-shim", config->log_level, LogFormat::automatic);
  ignore_hangup_without_terminal();  // also in the standby, which systemctl kill reaches as well
  std::unique_ptr<Standby> standby;
  if (config->listen_access.tls.certificate.empty()) {
    auto started = Standby::start(log);
    if (started)
      standby = std::move(*started);
    else
      log.warn("standby.failed", "the standby process does not start: kube-scheduler waits for the shim if it hangs",
               {{"why", started.error()}});
  }
  // Blocked before any thread starts, so that only the sigwait below receives them.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  ignore_hangup_without_terminal();  // a blocked signal would reach sigwait though it is ignored

  const BootClock clock;  // answers from before a suspend must not be used after it
  ServiceNotify notify;
  const auto service = Service::start(*config, clock, log, notify, std::move(standby));
  if (!service) return complain(service.error());
  log.info("shim.started", "the shim is listening", {{"address", config->listen_address}, {"port", service->port()}});
  notify.ready("listening on port " + std::to_string(service->port()));
  int signal = 0;
  sigwait(&ending, &signal);
  notify.stopping();
  log.info("shim.stopping", "the shim is stopping", {{"signal", signal}});
  return 0;
}

}  // namespace wattle::shim
