#include "controller/trainer/model_service.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "common/base64.hpp"
#include "controller/web/model_json.hpp"

namespace wattle::controller {

namespace {

using What = ModelOrder::What;
constexpr std::size_t kMaxWhy = 500;
constexpr std::array<std::pair<std::string_view, What>, 3> kQueries{
    {{"model-save", What::save}, {"model-add", What::add}, {"model-load", What::load}}};

struct Given {
  ModelOrder order;
  std::string why;
};

Result<Given> read(const wire::Query& query) {
  std::optional<Given> given;
  for (const auto& [name, what] : kQueries)
    if (name == query.what) given = Given{{what, {}}, {}};
  if (!given)
    return fail(Errc::not_found, query.what, "is not a command for models", "use model-save, model-add or model-load");
  std::string encoded;
  for (const auto& [name, value] : query.arguments) {
    if (name == "name") {
      given->order.name = value;
    } else if (name == "why") {
      given->why = value.substr(0, kMaxWhy);
    } else if (name.starts_with("network.") && given->order.what == What::add) {
      encoded += value;  // in the order of their names
    } else {
      return fail(Errc::malformed, "argument " + name, "unknown argument");
    }
  }
  if (given->order.name.empty())
    return fail(Errc::malformed, "argument name", "is missing", "list networks with `wattle model list`");
  if (given->order.what == What::add) {
    auto network = base64_decode(encoded);
    if (!network || network->empty())
      return fail(Errc::malformed, "arguments network.NNNN", "are missing or not base64",
                  "use wattle model add NAME FILE");
    given->order.network = std::move(*network);
  }
  return *given;
}

std::string_view said(What what) {
  constexpr std::string_view kWords[] = {"model saved", "model added", "model loaded", "promoted model saved",
                                         "promoted model restored"};
  return kWords[static_cast<std::size_t>(what)];
}

}  // namespace

void ModelService::take(const wire::Query& query, const std::string& who, std::string route) {
  const auto refuse = [&](const Error& why) {
    refused_.push_back(
        {std::move(route), transport::Role::operator_, reply_of(query.request_id, tl::unexpected<Error>(why))});
  };
  auto given = read(query);
  if (!given) return refuse(given.error());
  if (!learning_.on()) return refuse({Errc::unavailable, query.what, "learning is off", "set learn.enabled: true"});
  auto answer = learning_.order(given->order);
  waiting_.push_back({std::move(route), who, given->why, query.request_id, given->order, std::move(answer), true});
}

void ModelService::follow(const ModelOrder& order) {
  if (!learning_.on()) return;
  waiting_.push_back({{}, "rollout", {}, 0, order, learning_.order(order), false});
}

std::vector<LateReply> ModelService::done() {
  std::vector<LateReply> ready = std::exchange(refused_, {});
  std::vector<Waiting> still;
  for (Waiting& each : waiting_) {
    if (each.answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      still.push_back(std::move(each));
      continue;
    }
    LateReply done = finish(each);
    if (each.replies) ready.push_back(std::move(done));
  }
  waiting_ = std::move(still);
  return ready;
}

LateReply ModelService::finish(Waiting& waiting) {
  auto answer = [&]() -> Result<std::string> {
    try {
      return waiting.answer.get();
    } catch (const std::future_error&) {  // the trainer ended first
      return fail(Errc::unavailable, "model " + waiting.order.name, "the trainer has stopped", "retry");
    }
  }();
  audit(waiting, answer);
  if (answer) answer = models_text(learning_.models());
  return {std::move(waiting.route), transport::Role::operator_, reply_of(waiting.request_id, std::move(answer))};
}

void ModelService::audit(const Waiting& waiting, const Result<std::string>& answer) {
  // A rollback without an earlier promotion is not reported.
  if (waiting.order.what == What::bring_back && !answer && answer.error().code == Errc::not_found) return;
  std::string what(said(waiting.order.what));
  what = answer ? what + ": " + *answer : "not done: " + what + ": " + answer.error().message();
  rollout_.audit(waiting.who, what, waiting.why);
}

}  // namespace wattle::controller
