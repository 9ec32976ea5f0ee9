#include "controller/power/sleep_asker.hpp"

#include <utility>

#include "common/http/target.hpp"

namespace wattle::controller::power {

namespace {

constexpr std::chrono::milliseconds kApiTimeout{10'000};
constexpr std::size_t kMostPages = 100;

Result<std::vector<DisruptionBudget>> list_budgets(kube::HttpApi& api) {
  const std::string path = "/apis/policy/v1/poddisruptionbudgets", first = path + "?limit=500";
  std::vector<DisruptionBudget> all;
  std::string target = first;
  for (std::size_t i = 0; i < kMostPages; ++i) {
    WATTLE_TRY(const kube::Reply reply, api.get(target));
    if (reply.status == 401 || reply.status == 403)
      return fail(Errc::denied, path, "the API server returned HTTP " + std::to_string(reply.status),
                  "set sleep.mode in the chart, which grants the right to list PodDisruptionBudgets");
    if (reply.status != 200)
      return fail(Errc::unavailable, path, "the API server returned HTTP " + std::to_string(reply.status));
    WATTLE_TRY(BudgetPage page, parse_budgets(reply.body));
    std::move(page.unsatisfied.begin(), page.unsatisfied.end(), std::back_inserter(all));
    if (page.next.empty()) break;
    target = first + "&continue=" + http::percent_encode(page.next);
  }
  return all;
}

}  // namespace

SleepAsker::SleepAsker(std::optional<kube::ApiServer> api, std::shared_ptr<const PowerConfig> drivers,
                       std::shared_ptr<NodePower> power, const Clock& clock, const Log& log)
    : clock_(clock),
      log_(log),
      api_(api ? std::make_unique<kube::HttpApi>(*api, kApiTimeout, kApiTimeout) : nullptr),
      probes_(drivers ? std::make_unique<NodeProbes>(drivers, std::move(power), clock) : nullptr),
      thread_([this] {
        if (api_) api_->stop();
        if (probes_) probes_->stop();
      }) {}

void SleepAsker::begin(std::vector<ToProbe> nodes) {
  if (busy()) return;
  thread_.post([this, nodes = std::move(nodes)]() -> TaskThread::Then {
    using Budgets = std::optional<Result<std::vector<DisruptionBudget>>>;
    const auto listed = std::make_shared<Budgets>();
    if (api_) *listed = list_budgets(*api_);
    auto probed = probes_ ? probes_->ask(nodes) : std::map<std::string, ProbedNode>();
    return [this, listed, probed = std::move(probed)]() mutable {
      probed_ = std::move(probed);
      if (*listed) take(std::move(**listed));
    };
  });
}

bool SleepAsker::take() {
  const std::vector<TaskThread::Then> done = thread_.done();
  for (const TaskThread::Then& then : done) then();
  return !done.empty();
}

void SleepAsker::take(Result<std::vector<DisruptionBudget>> listed) {
  if (listed) {
    unsatisfied_ = std::move(*listed);
    problem_.clear();
    return;
  }
  unsatisfied_.clear();
  problem_ = listed.error().message();
  if (const auto count = problems_logged_.note("budgets", clock_.mono()))
    log_.warn("sleep.budgets_unknown", "disruption budgets cannot be listed, so the sleep plan ignores them",
              {{"error", listed.error()}, {"count", *count}});
}

}  // namespace wattle::controller::power
