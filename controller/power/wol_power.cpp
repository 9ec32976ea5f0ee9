#include "controller/power/wol_power.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "common/dir.hpp"
#include "common/net_address.hpp"
#include "controller/power/magic_packet.hpp"

namespace wattle::controller::power {
namespace {

constexpr int kTimes = 3;

class WolPower final : public NodePower {
 public:
  explicit WolPower(WolConfig config) : config_(std::move(config)) {}

  Result<Capabilities> probe(const Node&, std::chrono::milliseconds) override {
    WATTLE_CHECK(parse_mac(config_.mac));
    return Capabilities{.depths = {}, .can_wake = true};
  }

  Status sleep(const Node& node, Depth, const Operation&) override {
    return fail(Errc::unsupported, node.name, "Wake-on-LAN cannot put a node to sleep",
                "name another driver for sleep");
  }

  Status wake(const Node& node, const Operation&) override {
    WATTLE_TRY(const Mac mac, parse_mac(config_.mac));
    const auto to = numeric_address(config_.broadcast, static_cast<std::uint16_t>(config_.port));
    if (!to)
      return fail(Errc::malformed, node.name, config_.broadcast + " is not an address of this machine's networks");
    const std::string subject = node.name + " by Wake-on-LAN to " + config_.broadcast;
    const Fd sender(::socket(to->ipv6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!sender.valid()) return fail_errno(errno, subject);
    const int yes = 1;
    if (!to->ipv6() && ::setsockopt(sender.get(), SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes) != 0)
      return fail_errno(errno, subject);
    const MagicPacket packet = magic_packet(mac);
    for (int time = 0; time < kTimes; ++time)
      if (::sendto(sender.get(), packet.data(), packet.size(), MSG_NOSIGNAL, to->get(), to->length) < 0)
        return fail_errno(errno, subject, "set wol.broadcast to the broadcast address of the node's network");
    return {};
  }

  Result<Observation> observe(const Node& node, std::chrono::milliseconds) override {
    return fail(Errc::unsupported, node.name, "Wake-on-LAN cannot observe a node", "name another driver for observe");
  }

 private:
  const WolConfig config_;
};

}  // namespace

std::shared_ptr<NodePower> make_wol_power(WolConfig config) { return std::make_shared<WolPower>(std::move(config)); }

}  // namespace wattle::controller::power
