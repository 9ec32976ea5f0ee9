#include "controller/answers.hpp"

#include <memory>
#include <utility>

#include "common/cgroup_path.hpp"
#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "common/wire/codec.hpp"
#include "controller/config.hpp"
#include "controller/limits.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/provision/sizing_ladder.hpp"
#include "controller/role_figures.hpp"
#include "controller/state/shims.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/known_arguments.hpp"
#include "controller/web/provision_json.hpp"
#include "controller/web/store_documents.hpp"
#include "controller/web/what_if.hpp"

namespace wattle::controller {

using transport::Channel;

namespace {
constexpr double kLongestLimit_s = 366 * 86'400;
}  // namespace

Answers::Answers(const Parts& parts, const Feed& feed, Guardrails& guardrails, ModelService& models,
                 DecisionKeeper& keeper, ConfirmedWorkloads& confirmed)
    : parts_(parts),
      feed_(feed),
      guardrails_(guardrails),
      models_(models),
      keeper_(keeper),
      confirmed_(confirmed),
      backups_(parts_.config.data_dir, parts_.store, parts_.rollout, parts_.sizing) {}

std::vector<LateReply> Answers::late() {
  std::vector<LateReply> late = models_.done();
  if (auto done = backups_.step()) late.push_back(std::move(*done));
  for (auto each = store_reads_.begin(); each != store_reads_.end();) {
    if (each->answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      ++each;
      continue;
    }
    late.push_back({each->route, each->role, reply_of(each->request_id, each->answer.get())});
    each = store_reads_.erase(each);
  }
  return late;
}

wire::Message Answers::refuse(const transport::Identity& who, transport::Refused reason, Error why) {
  parts_.context.refusals().add(Channel::ask, reason, who.role);
  if (const auto count =
          refusals_logged_.note(who.user_id() + " " + std::string(to_string(reason)), parts_.clock.mono()))
    parts_.log.warn("peer.refused", "a request of a peer was rejected",
                    {{"endpoint", "ask"},
                     {"reason", to_string(reason)},
                     {"peer", who.user_id()},
                     {"subject", why.subject},
                     {"what", why.what},
                     {"count", *count}});
  return wire::Refusal{std::move(why.subject), std::move(why.what), std::move(why.fix)};
}

Draft<std::vector<wire::Message>> Answers::answer(const transport::Incoming& incoming, Duration waited) {
  using transport::Refused;
  const transport::Identity& who = incoming.identity;
  const auto one = [](wire::Message message) { return ready(Messages{std::move(message)}); };
  auto message = wire::decode(incoming.bytes);
  if (!message)
    return one(refuse(
        who, Refused::malformed,
        {Errc::malformed, message.error().subject, message.error().what, "upgrade the client, or find its sender"}));
  const wire::Kind kind = kind_of(*message);
  const auto* query = std::get_if<wire::Query>(&*message);
  const std::string_view what = query != nullptr ? std::string_view(query->what) : std::string_view();
  if (const auto why = refused(Channel::ask, kind, what, who.role)) {
    if (*why == Refused::kind)
      return one(refuse(
          who, *why,
          {Errc::denied, std::string(to_string(kind)), "is not accepted on the ask endpoint", "send Ask or Query"}));
    const Error error{
        Errc::denied, who.user_id(),
        "permission denied: " + (query != nullptr ? "query " + query->what : std::string("request placements")),
        "needs role " + transport::roles_text(Channel::ask, kind, what)};
    wire::Message refusal = refuse(who, *why, error);
    if (query == nullptr) return one(std::move(refusal));
    return one(reply_of(query->request_id, tl::unexpected<Error>(error)));
  }
  if (auto* ask = std::get_if<wire::Ask>(&*message)) return ready(answer_ask(std::move(*ask), who, waited));
  if (Status known = check_arguments(query->what, query->arguments); !known)
    return one(reply_of(query->request_id, forward_error(known)));
  if (query->what.starts_with("model-")) {
    models_.take(*query, who.user_id(), incoming.route);
    return ready(Messages());
  }
  if (is_of_store(query->what, query->arguments)) return answer_from_store(*query, incoming);
  if (query->what == "confirm" || query->what == "done" || query->what == "sleep-exclude")
    return answer_kept(*query, incoming);
  if (query->what == "backup") {
    auto now = backups_.take(*query, who.user_id(), incoming.route);
    return now ? one(std::move(*now)) : ready(Messages());
  }
  return answer_query(*query, who.user_id());
}

Draft<Answers::Messages> Answers::answer_from_store(const wire::Query& query, const transport::Incoming& incoming) {
  return then(keeper_.flush(parts_.decider.log(), parts_.clock.mono()), [this, query, route = incoming.route,
                                                                         role = incoming.identity.role] {
    auto asked = ask_store(parts_.store, query.what, query.arguments, parts_.clock.wall(), parts_.config.tariff);
    if (!asked) return ready(Messages{reply_of(query.request_id, forward_error(asked))});
    store_reads_.push_back({route, role, query.request_id, std::move(*asked)});
    return ready(Messages());
  });
}

Draft<Answers::Messages> Answers::answer_kept(const wire::Query& query, const transport::Incoming& incoming) {
  Messages now = finished(answer_query(query, incoming.identity.user_id()));
  const auto* reply = std::get_if<wire::Reply>(&now.front());
  if (!parts_.store.on() || reply == nullptr || !reply->ok) return ready(std::move(now));
  // The store's thread reads after it has written all pending rows.
  return then(keeper_.flush(parts_.decider.log(), parts_.clock.mono()),
              [this, id = query.request_id, body = reply->body, route = incoming.route, role = incoming.identity.role] {
                store_reads_.push_back(
                    {route, role, id, parts_.store.read([body](StoreFile&) -> Result<std::string> { return body; })});
                return ready(Messages());
              });
}

Answers::Messages Answers::answer_ask(wire::Ask ask, const transport::Identity& who, Duration waited) {
  if (ask.deadline_ms > 0 && seconds(waited) * 1e3 > ask.deadline_ms) return {};  // the asker no longer waits
  parts_.shims.asked(ask.pod_uid, parts_.clock.mono());
  if (ask.candidates.size() <= kMaxCandidates) return {parts_.decider.asks().ask(std::move(ask))};
  wire::Suggestion neutral;
  neutral.request_id = ask.request_id;
  neutral.reason = "more than " + std::to_string(kMaxCandidates) + " candidates";
  neutral.scores.assign(ask.candidates.size(), 0);
  parts_.context.refusals().add(Channel::ask, transport::Refused::malformed, who.role);
  return {std::move(neutral)};
}

Draft<Answers::Messages> Answers::answer_query(const wire::Query& query, const std::string& who) {
  // Every role that may subscribe to the feed may request its snapshot.
  if (query.what == "snapshot") return snapshot(query.request_id);
  Document body = query.what == "confirm"             ? ready(confirm(query.arguments))
                  : query.what == "done"              ? ready(done(query.arguments))
                  : query.what == "shim"              ? ready(beat(query.arguments, who))
                  : query.what.starts_with("sleep-")  ? ready(parts_.sleep.order(query.what, query.arguments, who))
                  : query.what == "provision-mode"    ? ready(set_mode(query.arguments, who))
                  : query.what == "provision-report"  ? ready(report(query.arguments))
                  : query.what.starts_with("policy-") ? ready(guardrails_.order(query.what, query.arguments, who))
                                                      : document(query.what, query.arguments);
  return mapped(std::move(body),
                [id = query.request_id](Result<std::string> made) { return Messages{reply_of(id, std::move(made))}; });
}

Draft<Answers::Messages> Answers::snapshot(std::uint64_t request_id) {
  const auto snapshot = std::make_shared<wire::Snapshot>();
  snapshot->request_id = request_id;
  snapshot->epoch = feed_.epoch();
  snapshot->seq = feed_.state_seq();
  Steps states = each_of(parts_.state.nodes(), [this, snapshot, now = parts_.clock.mono()](const auto& item) {
    snapshot->states.push_back(state_of(item.first, item.second, *parts_.state.node_view(item.first), now));
  });
  return then(std::move(states), [this, snapshot] {
    snapshot->board = board_of(parts_.decider, parts_.networks);
    snapshot->board.epoch = feed_.epoch();
    snapshot->board.seq = feed_.boards();
    return ready(Messages{std::move(*snapshot)});
  });
}

Document Answers::document(const std::string& what, const Arguments& arguments) {
  if (what == "what-if") return what_if_text(parts_, arguments);
  return controller::document(parts_, what, arguments);
}

Result<std::string> Answers::beat(const Arguments& facts, const std::string& who) {
  WATTLE_CHECK(parts_.shims.beat(who, facts, parts_.clock.mono()));
  return std::string("{}");
}

Result<std::string> Answers::set_mode(const Arguments& arguments, const std::string& who) {
  WATTLE_CHECK(parts_.sizing.set_mode(arguments, who));
  return provision_text(parts_, {{"only", "sized"}});
}

Result<std::string> Answers::report(const Arguments& arguments) {
  WATTLE_CHECK(parts_.sizing.report(argument(arguments, "report")));
  return std::string("{}");
}

Result<std::string> Answers::confirm(const Arguments& arguments) {
  const std::string pod = argument(arguments, "pod"), node = argument(arguments, "node");
  if (pod.empty() || node.empty())
    return fail(Errc::malformed, "confirm", "needs pod and node", "wattle confirm POD NODE");
  const std::string unit = argument(arguments, "unit");
  if (!unit.empty() && (!normal_cgroup_path(unit) || unit_names(unit).empty()))
    return fail(Errc::malformed, "argument unit", "'" + unit + "' is neither a unit nor a cgroup",
                "use a unit, a container ID, a VM or the path of a cgroup");
  std::optional<Duration> limit;
  if (const std::string text = argument(arguments, "limit_s"); !text.empty()) {
    const auto limit_s = parse::real(text);
    if (!limit_s || !(*limit_s > 0) || *limit_s > kLongestLimit_s)
      return fail(Errc::malformed, "argument limit_s", "'" + text + "' is not a time limit",
                  "use seconds, up to a year");
    limit = from_seconds(*limit_s);
  }
  WATTLE_TRY(const Confirmation found, confirmed_.confirm(pod, node, unit, limit));
  return SortedJson{{"confirmed", true},
                    {"uid", found.uid},
                    {"node", found.node},
                    {"ended", found.ended},
                    {"unit", text_or_null(found.unit)},
                    {"limit_s", found.limit_s > 0 ? SortedJson(found.limit_s) : SortedJson(nullptr)}}
      .dump();
}

Result<std::string> Answers::done(const Arguments& arguments) {
  const std::string pod = argument(arguments, "pod"), failed = argument(arguments, "failed", "no");
  if (pod.empty()) return fail(Errc::malformed, "done", "needs a pod", "wattle done POD");
  if (arguments.contains("failed") && failed != "yes")
    return fail(Errc::malformed, "argument failed", "invalid value '" + failed + "'", "use yes, or omit it");
  WATTLE_TRY(const Ending ended, confirmed_.done(pod, failed == "yes"));
  return SortedJson{{"done", true}, {"uid", ended.uid}, {"ended", ended.ended}, {"node", text_or_null(ended.node)}}
      .dump();
}

}  // namespace wattle::controller
