#include "cli/watch.hpp"

#include <array>
#include <optional>
#include <ostream>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/printed_decisions.hpp"
#include "cli/screen.hpp"
#include "common/clock.hpp"
#include "common/printable.hpp"
#include "common/wire/codec.hpp"

namespace wattle::cli {

namespace {
constexpr std::chrono::milliseconds kLookForStop{100};
constexpr Duration kDrawEvery = std::chrono::seconds(1);

// The fields that a table of decisions shows; `wattle explain` shows all.
Json decision_document(const wire::Decision& decision) {
  Json marginal_w = nullptr;
  for (const wire::Candidate& candidate : decision.candidates)
    if (!decision.advice.empty() && candidate.node == decision.advice) marginal_w = candidate.marginal_w;
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"id", decision.id},
          {"wall_ns", decision.wall_ns},
          {"pod_uid", decision.pod_uid},
          {"pod_name", or_null(decision.pod_name)},
          {"pod_namespace", or_null(decision.pod_namespace)},
          {"decided_by", or_null(decision.decided_by)},
          {"advice", or_null(decision.advice)},
          {"marginal_w", std::move(marginal_w)},
          {"mode", decision.mode},
          {"policy", decision.policy},
          {"reason", decision.reason}};
}

// Prints one line each, so that a pipe gets them as they arrive.
std::string decision_line(const Json& document) {
  const View decision(document);
  const auto added = decision["marginal_w"].number();
  return printable(utc(decision["wall_ns"]) + "  " +
                   pod_label(decision["pod_name"], decision["pod_namespace"], decision["pod_uid"]) + " -> " +
                   decision["advice"].text_or("no node") + (added ? ", adds " + number(*added, 1) + " W est" : "") +
                   " (" + decision["decided_by"].text_or("-") + ")") +
         "\n";
}

class Watch {
 public:
  Watch(const Invocation& invocation, Controller& controller, transport::Subscriber feed, StopKeys stop)
      : invocation_(invocation), controller_(controller), feed_(std::move(feed)), stop_(std::move(stop)) {}

  Result<int> decisions(const std::string& name_space) {
    for (;;) {
      WATTLE_TRY(const auto message, next());
      if (!message) return kOk;
      const auto* decision = std::get_if<wire::Decision>(&*message);
      if (decision == nullptr || !printed_.take(*decision)) continue;
      if (!name_space.empty() && decision->pod_namespace != name_space) continue;
      const Json document = decision_document(*decision);
      std::ostream& out = invocation_.around.out;
      if (invocation_.common.output == Output::json)
        out << document.dump(-1, JsonText::ascii) << "\n" << std::flush;
      else if (invocation_.common.output == Output::name)
        out << decision->id << "\n" << std::flush;
      else
        WATTLE_CHECK(print(invocation_, document, [](const Json& reported, const Style&) -> Result<std::string> {
          return decision_line(reported);
        }));
    }
  }

  Result<int> table(const Fetch& fetch, const std::function<Status(const Json&)>& show) {
    for (std::optional<MonoTime> drawn;;) {
      const MonoTime now = clock_.mono();
      if (!drawn || (changed_ && now - *drawn >= kDrawEvery)) {
        WATTLE_TRY(const Json document, fetch(controller_));
        if (invocation_.around.terminal) invocation_.around.out << kHome;
        WATTLE_CHECK(show(document));
        drawn = now;
        changed_ = false;
      }
      if (stop_.pressed()) return kOk;
      if (feed_.receive(kLookForStop)) changed_ = true;
      WATTLE_CHECK(check_link());
    }
  }

 private:
  // Returns the next message; no value after a stop request.
  Result<std::optional<wire::Message>> next() {
    for (;;) {
      if (stop_.pressed()) return std::optional<wire::Message>();
      const auto published = feed_.receive(kLookForStop);
      WATTLE_CHECK(check_link());
      if (!published) continue;
      if (auto message = wire::decode(published->bytes)) return std::optional<wire::Message>(std::move(*message));
    }
  }
  // Fails if the feed never connected. A feed that was lost may be a restart of the controller, so it only warns.
  Status check_link() {
    WATTLE_CHECK(controller_.keep_valid());
    const transport::Link link = feed_.link();
    if (link == transport::Link::refused)
      return fail(Errc::denied, "feed", feed_.link_problem(),
                  "check that your key is on the allow list and that --server-key is the controller's key");
    if (link == transport::Link::up) {
      if (warned_)
        invocation_.around.err << "wattle: " + invocation_.command + ": the feed is available again\n" << std::flush;
      was_up_ = true;
      warned_ = false;
      down_since_.reset();
      return {};
    }
    if (!down_since_) down_since_ = clock_.mono();
    const Settings& settings = controller_.settings();
    const bool refused = !was_up_ && !feed_.link_problem().empty();
    if (warned_ || (!refused && clock_.mono() - *down_since_ < settings.timeout)) return {};
    const Error away{Errc::timeout, "feed", "no answer from " + settings.feed,
                     was_up_ ? "retrying" : "check that the controller runs and that --feed is its feed"};
    if (!was_up_) return tl::unexpected<Error>(away);
    warned_ = true;
    complain(invocation_, away);
    return {};
  }

  const Invocation& invocation_;
  Controller& controller_;
  transport::Subscriber feed_;
  StopKeys stop_;
  SystemClock clock_;
  PrintedDecisions printed_;
  bool changed_ = false;
  bool was_up_ = false, warned_ = false;
  std::optional<MonoTime> down_since_;
};

Outcome watch(const Invocation& invocation, std::string_view topic, const std::function<Result<int>(Watch&)>& work) {
  WATTLE_TRY(StopKeys stop, StopKeys::open_());
  return with_controller(invocation, [&](Controller& controller) -> Result<int> {
    const std::array<std::string, 1> topics{std::string(topic)};
    WATTLE_TRY(auto feed, controller.listen(topics));
    Watch watching(invocation, controller, std::move(feed), std::move(stop));
    return work(watching);
  });
}
}  // namespace

Outcome watch_table(const Invocation& invocation, const Fetch& fetch, const std::function<Status(const Json&)>& show) {
  return watch(invocation, transport::kTopicState, [&](Watch& watching) { return watching.table(fetch, show); });
}

Outcome watch_decisions(const Invocation& invocation, const std::string& name_space) {
  return watch(invocation, transport::kTopicDecision, [&](Watch& watching) { return watching.decisions(name_space); });
}

}  // namespace wattle::cli
