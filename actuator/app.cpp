#include "actuator/app.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <iostream>
#include <string>

#include "actuator/config.hpp"
#include "actuator/doctor.hpp"
#include "actuator/run.hpp"
#include "common/cmdline/parse.hpp"
#include "common/error_line.hpp"
#include "common/printable.hpp"
#include "common/seqpacket.hpp"
#include "common/version.hpp"
#include "provision/minute/student_file.hpp"

namespace wattle::actuator {

namespace {
int complain(const Error& error, int code = 1) {
  std::cerr << error_line("wattle-actuator", "", error) << "\n";
  return code;
}

int put_back(const ActuatorConfig& config) {
  const auto restored = restore(config, Machine{});
  if (!restored) return complain(restored.error());
  std::cout << restored->put_back << " limits restored, " << restored->foreign
            << " kept because another program changed them, " << restored->gone << " ended with their workloads, "
            << restored->waiting << " waiting for a higher quota\n";
  for (const auto* errors : {&restored->failed, &restored->traces})
    for (const Error& error : *errors) complain(error);
  if (restored->damage) complain(*restored->damage);
  return restored->failed.empty() && restored->traces.empty() && !restored->damage ? 0 : 1;
}

std::string cores(const std::optional<double>& value) {
  if (!value) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", *value);
  return text.data();
}

std::string protection(const std::optional<actuation::Protection>& low) {
  if (!low) return "-";
  if (low->effective_bytes == low->bytes) return std::to_string(low->bytes);
  return std::to_string(low->bytes) + " (ancestors let " + std::to_string(low->effective_bytes) + " through)";
}

int status(const ActuatorConfig& config) {
  const auto ask = [&]() -> Result<actuation::Report> {
    WATTLE_TRY(const Fd peer, connect_seqpacket(config.socket));
    WATTLE_CHECK(send_packet(peer, actuation::kStatus));
    WATTLE_TRY(const auto text, receive_packet(peer, actuation::kMaxMessageBytes, std::chrono::seconds(5)));
    if (!text) return fail(Errc::timeout, config.socket, "does not answer");
    return actuation::parse_report(*text);
  };
  const auto report = ask();
  if (!report) return complain(report.error());
  // Formats freed cores with the power that they would draw if busy.
  const auto freed = [&](const std::optional<double>& freed_cores) {
    if (!freed_cores || !report->core_power_w) return cores(freed_cores);
    return cores(freed_cores) + " (" + cores(*freed_cores * *report->core_power_w) + " W)";
  };
  std::cout << "headroom " << cores(report->headroom_cores) << " cores, " << report->foreign << " foreign writes\n";
  if (report->student_out > 0)
    std::cout << "student: withdrawn for " << report->student_out
              << " workloads because of too much throttling; throttling now sets their margins\n";
  for (const auto& grant : report->grants)
    std::cout << printable(grant.path) << ": " << actuation::kLevelNames[static_cast<std::size_t>(grant.level)] << ", "
              << actuation::kStateNames[static_cast<std::size_t>(grant.state)] << ", used " << cores(grant.used_cores)
              << ", limit " << cores(grant.granted_cores) << ", freed " << freed(grant.freed_cores) << ", memory.high "
              << (grant.high_bytes ? std::to_string(*grant.high_bytes) : "-") << ", memory.low "
              << protection(grant.low) << ", refills " << grant.refills << "\n";
  return 0;
}

int doctor(const ActuatorConfig& config) {
  bool healthy = true;
  for (const Finding& finding : examine(config, Machine{})) {
    std::cout << printable(finding.subject + ": " +
                           (finding.ok       ? "ok: "
                            : finding.needed ? "lost: "
                                             : "note: ") +
                           finding.text)
              << "\n";
    healthy = healthy && (finding.ok || !finding.needed);
  }
  return healthy ? 0 : 1;
}
}  // namespace

int run_app(int argc, char** argv) {
  CLI::App app{"Wattle's actuator: sets limits of workloads on one node, and restores the original limits",
               "wattle-actuator"};
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  std::string file = "/etc/wattle/actuator.yaml";
  bool check = false;
  auto* running = app.add_subcommand("run", "Set limits of workloads until SIGTERM, then restore the original limits");
  running->add_flag("--check-config", check, "Check the configuration and exit");
  auto* restoring = app.add_subcommand(
      "restore", "Restore the original limits after an actuator that did not stop normally; can be repeated");
  auto* examining =
      app.add_subcommand("doctor", "Report which limits the actuator can set on this node; exit 1 if none");
  auto* reporting = app.add_subcommand("status", "Show the limits that the running actuator has set or would set");
  for (auto* command : {running, restoring, examining, reporting})
    command->add_option("--config", file, "Configuration (YAML) (default: /etc/wattle/actuator.yaml)")
        ->type_name("FILE");
  if (const auto code = cmdline::parse(app, argc, argv)) return *code;
  const auto config = load_config(file);
  if (!config) return complain(config.error(), cmdline::kMisused);
  if (*examining) return doctor(*config);
  if (*reporting) return status(*config);
  if (*restoring) return put_back(*config);
  if (check) {
    if (!config->student_file.empty() && !config->student_of_agent())
      if (const auto student = models::provision::read_student(config->student_file); !student)
        return complain(student.error(), cmdline::kMisused);
    std::cout << file << ": ok\n";
    return 0;
  }
  const SystemClock clock;
  const Log log("wattle-actuator", config->log_level, LogFormat::automatic);
  if (const auto ran = run(*config, Machine{}, clock, log); !ran) return complain(ran.error());
  return 0;
}

}  // namespace wattle::actuator
