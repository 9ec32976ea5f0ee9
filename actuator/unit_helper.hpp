// unit_helper: a separate process that talks to systemd, so that this one needs no connection to a bus.
// Why      Root's connection to the system bus can make systemd start anything. This process receives messages from the
//          agent, so it has no such connection. It can send the helper only a unit's name, one of three properties and
//          a number. systemd may take seconds (daemon-reload). The loop waits at most kPatience, and sends no further
//          request until systemd has answered.
// Rules    The helper drops its rights like this process, except for AF_UNIX sockets. It ends when this process does,
//          for any reason. Files that are open when it starts stay open in it, so that a lock is held until both
//          processes have ended.
// Errors   those of UnitManager; timeout also while an earlier request is unanswered; unavailable without a helper
// Threads  single owner; start it while there is only one thread
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
  // True if the helper has ended; it then answers no further request.
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
