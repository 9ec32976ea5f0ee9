// unit_helper: a process of its own that speaks to systemd for this one, which so needs no connection to a bus.
// Why      who has root's connection to the system bus can have systemd start anything. This process listens to the agent: it holds
//          no such connection. What it can say to the helper is a unit's name, one of two properties and a number
//          systemd may take seconds (daemon-reload); the loop waits for kPatience at most, and asks nothing more until it has answered
// Rules    the helper gives up its rights as this process does, but for AF_UNIX sockets; it ends when this process does, however
//          that ends, and what this process had open when it began is open in it: a lock is held until both are gone
// Errors   those of UnitManager; timeout also while an earlier question is not answered; unavailable once the helper is gone
// Threads  single owner; to be started while there is one
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "actuator/unit_manager.hpp"
#include "common/dir.hpp"

namespace wattle::actuator {

class UnitHelper final : public UnitManager {
 public:
  static constexpr std::chrono::milliseconds kPatience{500};
  using Make = std::function<std::unique_ptr<UnitManager>()>;  // called in the helper

  static Result<std::unique_ptr<UnitHelper>> start(const Make& make, std::chrono::milliseconds patience = kPatience);
  Result<std::string> cgroup_of(const std::string& unit) override;
  Result<std::uint64_t> read(const std::string& unit, UnitProperty property) override;
  Status write(const std::string& unit, UnitProperty property, std::uint64_t value) override;
  // It ended, and nothing will be answered any more.
  bool gone() const { return gone_; }

 private:
  struct Question;
  struct Answer;
  UnitHelper(Fd peer, std::chrono::milliseconds patience) : peer_(std::move(peer)), patience_(patience) {}
  static void serve(const Fd& peer, UnitManager& manager);
  static Answer answer(const Question& question, UnitManager& manager);
  Result<Answer> ask(Question question, const std::string& unit);
  bool receive(std::chrono::milliseconds timeout, Answer& answer);

  Fd peer_;
  std::chrono::milliseconds patience_;
  std::uint32_t asked_ = 0, answered_ = 0;
  bool gone_ = false;
};

}  // namespace wattle::actuator
