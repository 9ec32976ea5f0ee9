#include "controller/ingest/sleep_link.hpp"

#include "common/wire/codec.hpp"

namespace wattle::controller {

Status SleepLink::order(const std::string& node, const wire::SleepOrder& order) {
  WATTLE_TRY(const Answer answer, telemetry_.order(node, order));
  if (socket_.send(answer.route, wire::encode(answer.message)) != transport::Sent::yes)
    return fail(Errc::unavailable, node, "its agent does not read what it is sent",
                "see its log: journalctl -u wattle-agent");
  return {};
}

}  // namespace wattle::controller
