#include "actuator/run.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "actuator/agent_link.hpp"
#include "actuator/cgroup_limits.hpp"
#include "actuator/governor.hpp"
#include "actuator/sandbox.hpp"
#include "actuator/student_watch.hpp"
#include "actuator/unit_bus.hpp"
#include "actuator/unit_helper.hpp"
#include "actuator/unit_limits.hpp"
#include "common/hangup.hpp"
#include "common/parse.hpp"
#include "common/service_notify.hpp"
#include "common/stop_signal.hpp"
#include "common/version.hpp"

namespace wattle::actuator {

namespace {
constexpr Duration kTick = std::chrono::milliseconds(100);
constexpr std::chrono::seconds kRestorePatience(25);
constexpr Duration kComplainEvery = std::chrono::seconds(10);

Result<std::string> boot_of(const Machine& machine) {
  WATTLE_TRY(const std::string text, read_file(machine.proc() + "/sys/kernel/random/boot_id", 256));
  const std::string boot(parse::trim(text));
  if (boot.empty() || boot.find_first_of(" \n") != std::string::npos)
    return fail(Errc::malformed, machine.proc() + "/sys/kernel/random/boot_id", "is not a boot ID");
  return boot;
}

Result<Journal> open_journal(const ActuatorConfig& config, const Machine& machine, Os& os) {
  WATTLE_TRY(const std::string boot, boot_of(machine));
  return Journal::open_(config.state_dir, boot, os);
}

void log_restored(const Restored& restored, std::string_view event, std::string_view message, const Log& log) {
  if (restored.put_back + restored.foreign + restored.gone + restored.waiting > 0)
    log.info(event, message,
             {{"limits", restored.put_back},
              {"foreign", restored.foreign},
              {"gone", restored.gone},
              {"waiting", restored.waiting}});
  // A confined process may not write there; its unit then runs `restore`, which may.
  for (const Error& error : restored.traces)
    log.info("restore.left", "a systemd drop-in of a restored limit cannot be removed by this process",
             {{"error", error}});
  for (const Error& error : restored.failed)
    log.error("restore.failed", "a limit was not restored", {{"error", error}});
  if (restored.damage)
    log.error("record.damaged", "the record of changed limits is damaged", {{"error", *restored.damage}});
}

void wait(const std::optional<AgentLink>& link, int stop_fd, Duration span) {
  std::array<pollfd, 3> fds{{{stop_fd, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
  if (link) {
    fds[1].fd = link->listener();
    fds[2].fd = link->peer();
  }
  const auto left = std::max(span, Duration(0));
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(left / std::chrono::seconds(1));
  timeout.tv_nsec = static_cast<long>((left % std::chrono::seconds(1)).count());
  ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

void listen(AgentLink& link, Governor& governor, MonoTime now, MonoTime& complained_at, const Log& log) {
  const auto complain = [&](const Error& error) {
    if (now - complained_at < kComplainEvery) return;
    complained_at = now;
    log.warn("agent.refused", "the actuator rejected a message of the agent", {{"error", error}});
  };
  if (const auto taken = link.accept(); !taken) complain(taken.error());
  auto message = link.receive();
  if (!message) return complain(message.error());
  if (!*message) return;
  if (auto& orders = (*message)->orders) governor.orders().receive(std::move(*orders), now);
  link.send(governor.report());
}

// Returns no value if no student is configured.
Result<std::optional<StudentWatch>> open_student(const ActuatorConfig& config, Governor& governor, const Log& log) {
  if (config.student_file.empty()) return std::optional<StudentWatch>();
  if (config.student_of_agent()) return std::optional(StudentWatch(config.student_file));
  WATTLE_TRY(auto student, StudentWatch::open_(config.student_file));
  governor.steer_by(student.network());
  log.info("student.serves", "the student's margins are in use", {{"file", config.student_file}});
  return std::optional(std::move(student));
}

void look(StudentWatch& student, const std::string& file, Governor& governor, MonoTime now, const Log& log) {
  const auto another = student.look(now);
  if (another && !*another) return;
  governor.steer_by(student.network());
  if (another)
    log.info("student.serves", "the student's margins are in use", {{"file", file}});
  else if (another.error().code == Errc::not_found)
    log.info("student.gone", "the student file was removed; throttling sets the margins", {{"file", file}});
  else
    log.warn("student.lost", "the student file is not usable; the previous student stays in use",
             {{"error", another.error()}});
}
}  // namespace

Result<Restored> restore(const ActuatorConfig& config, const Machine& machine) {
  Os os;
  WATTLE_TRY(CgroupMounts mounts, CgroupMounts::open_(machine.prefix));
  CgroupLimits cgroups(std::move(mounts), os);
  WATTLE_TRY(Journal journal, open_journal(config, machine, os));
  UnitBus bus(bus_address(machine.bus_socket()), kRestorePatience);
  UnitLimits limits(cgroups, machine.has_systemd() ? &bus : nullptr, machine.control_dir());
  Ledger ledger(std::move(journal), limits);
  return ledger.restore_all();
}

std::optional<Error> record_damage(const ActuatorConfig& config, const Machine& machine) {
  const auto boot = boot_of(machine);
  return boot ? Journal::damage_at(config.state_dir, *boot) : std::nullopt;
}

Status run(const ActuatorConfig& config, const Machine& machine, const Clock& clock, const Log& log) {
  WATTLE_TRY(StopSignal stop, StopSignal::open_());
  ignore_hangup_without_terminal();
  Os os;
  WATTLE_TRY(CgroupMounts mounts, CgroupMounts::open_(machine.prefix));
  CgroupLimits cgroups(std::move(mounts), os);
  WATTLE_TRY(Journal journal, open_journal(config, machine, os));
  // After the journal, whose lock is held until the helper has ended too. Before everything that the helper does not
  // need.
  std::unique_ptr<UnitHelper> helper;
  if (machine.has_systemd()) {
    const std::string bus = bus_address(machine.bus_socket());
    WATTLE_TRY(helper, UnitHelper::start([&] { return std::make_unique<UnitBus>(bus); }));
  }
  UnitLimits limits(cgroups, helper.get(), machine.control_dir());
  Ledger ledger(std::move(journal), limits);
  const Restored left = ledger.restore_all();
  log_restored(left, "restore.left_behind", "restored limits that a previous actuator left behind", log);
  // A limit in force may be ours, and must not be mistaken for the original.
  if (left.damage) return tl::unexpected<Error>(*left.damage);
  WATTLE_TRY(NodeLoad load,
             NodeLoad::open_(machine.proc(), static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)))));
  Rules rules = config.rules;
  // Half of the memory stays for workloads without protection.
  if (const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE); pages > 0 && page > 0)
    rules.most_protected_bytes = static_cast<std::int64_t>(pages) * page / 2;
  Governor governor(cgroups, limits, ledger, std::move(load), rules);
  governor.orders().own(config.workloads);
  WATTLE_TRY(auto student, open_student(config, governor, log));
  std::optional<AgentLink> link;
  if (!config.socket.empty()) {
    WATTLE_TRY(auto opened, AgentLink::open_(config.socket));
    link.emplace(std::move(opened));
  }
  ServiceNotify notify;
  WATTLE_CHECK(give_up_rights(Work::limits));
  log.info("actuator.started", "the actuator is running",
           {{"version", kVersion}, {"workloads", config.workloads.size()}, {"socket", config.socket}});
  notify.ready("managing " + std::to_string(config.workloads.size()) + " configured workloads");

  MonoTime now = clock.mono(), next = now, complained_at = now - kComplainEvery;
  while (!stop.pending() && !(helper && helper->gone())) {
    now = clock.mono();
    notify.alive(now);
    if (link) listen(*link, governor, now, complained_at, log);
    if (now >= next) {
      if (student) look(*student, config.student_file, governor, now, log);
      governor.tick(now);
      for (const Error& error : governor.take_troubles())
        log.warn("workload.trouble", "a workload's limits cannot be managed", {{"error", error}});
      // After a pause (the machine slept), missed ticks are skipped.
      next = std::max(next + kTick, now);
    }
    wait(link, stop.fd(), next - clock.mono());
  }
  notify.stopping();
  const Restored restored = ledger.restore_all();
  log_restored(restored, "restore.done", "restored the limits of this actuator", log);
  if (!config.socket.empty()) ::unlink(config.socket.c_str());
  log.info("actuator.stopped", "the actuator has stopped",
           {{"writes", ledger.writes()}, {"foreign", ledger.foreign()}});
  if (helper && helper->gone())
    return fail(Errc::unavailable, "systemd", "the helper process for systemd has ended",
                "restart wattle-actuator or run `wattle-actuator restore` to restore units");
  if (restored.failed.empty()) return {};
  return tl::unexpected<Error>(restored.failed.front());
}

}  // namespace wattle::actuator
