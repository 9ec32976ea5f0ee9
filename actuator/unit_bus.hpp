// unit_bus: systemd, spoken to over D-Bus. The only home of libsystemd.
// Source   Properties.Get and Manager.SetUnitProperties(runtime) at a bus's address; connects when it is asked, and anew after a loss
// Errors   those of UnitManager; each names unit and property
// Threads  single owner; waits for the answer
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "actuator/unit_manager.hpp"

struct sd_bus;

namespace wattle::actuator {

// The address of a bus that listens at this path, "/run/dbus/system_bus_socket".
std::string bus_address(const std::string& socket_path);

class UnitBus final : public UnitManager {
 public:
  // Zero patience: as long as it takes.
  explicit UnitBus(std::string address, std::chrono::microseconds patience = {});
  ~UnitBus() override;
  Result<std::string> cgroup_of(const std::string& unit) override;
  Result<std::uint64_t> read(const std::string& unit, UnitProperty property) override;
  Status write(const std::string& unit, UnitProperty property, std::uint64_t value) override;

 private:
  struct Close {
    void operator()(sd_bus* bus) const;
  };
  struct Sought {
    std::string path, interface;
  };
  Result<Sought> seek(const std::string& unit);
  tl::unexpected<Error> refused(int failed, const char* name, const char* text, std::string subject, bool writes);

  std::string address_;
  std::uint64_t patience_us_;
  std::unique_ptr<sd_bus, Close> bus_;
};

}  // namespace wattle::actuator
