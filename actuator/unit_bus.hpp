// unit_bus: client of systemd over D-Bus. Only this file uses libsystemd.
// Source   Properties.Get and Manager.SetUnitProperties(runtime) on a bus address; connects on first use, and again
//          after a loss
// Errors   those of UnitManager; each names unit and property
// Threads  single owner; blocks until the answer
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "actuator/unit_manager.hpp"
#include "common/bus_address.hpp"

struct sd_bus;

namespace wattle::actuator {

class UnitBus final : public UnitManager {
 public:
  // A patience of zero means to wait without limit.
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
