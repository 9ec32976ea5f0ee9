#include "agent/collect/names.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "common/dir.hpp"

namespace wattle::agent {

namespace {
struct DecisionContext {
  std::size_t id = 0;
  std::string host;
  std::uint16_t port = 0;
  bool failed_before = false;
};

}  // namespace

struct Names::State {
  std::mutex mutex;  // guards everything below except `wake`, which is thread-safe
  std::deque<DecisionContext> questions;
  std::vector<NameAnswer> answers;
  std::size_t askers = 0, slow_askers = 0;  // slow: with a name that failed before
  bool stopping = false;
  Fd wake;

  // Returns the next question that a thread may take; call with the lock held.
  std::optional<DecisionContext> pick() {
    if (stopping) return std::nullopt;
    const auto fits = [&](const DecisionContext& q) { return !q.failed_before || slow_askers < kMaxAskers / 2; };
    const auto found = std::find_if(questions.begin(), questions.end(), fits);
    if (found == questions.end()) return std::nullopt;
    DecisionContext question = std::move(*found);
    questions.erase(found);
    slow_askers += question.failed_before ? 1 : 0;
    return question;
  }
  // Call without the lock.
  void deliver(NameAnswer answer) {
    {
      const std::lock_guard lock(mutex);
      answers.push_back(std::move(answer));
    }
    const std::uint64_t one = 1;
    while (::write(wake.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
  // Runs a thread until there is no question that it may answer.
  void work(DecisionContext question) {
    for (;;) {
      auto found = resolve_host(question.host, question.port);
      NameAnswer answer;
      answer.id = question.id;
      answer.known = !found && found.error().code == Errc::not_found;
      if (found)
        answer.addresses = std::move(*found);
      else
        answer.problem = found.error().what;
      deliver(std::move(answer));
      const std::lock_guard lock(mutex);
      slow_askers -= question.failed_before ? 1 : 0;
      auto next = pick();
      if (!next) {
        --askers;
        return;
      }
      question = std::move(*next);
    }
  }
};

Names::Names(std::shared_ptr<State> state) : state_(std::move(state)) {}
Names::Names(Names&&) noexcept = default;

Names::~Names() {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  state_->stopping = true;
}

Result<Names> Names::start() {
  auto state = std::make_shared<State>();
  state->wake = Fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!state->wake.valid()) return fail_errno(errno, "eventfd");
  return Names(std::move(state));
}

void Names::ask(std::size_t id, const std::string& host, std::uint16_t port, bool failed_before) {
  std::optional<DecisionContext> first;
  {
    const std::lock_guard lock(state_->mutex);
    state_->questions.push_back({id, host, port, failed_before});
    if (state_->askers == kMaxAskers) return;  // the next free thread takes it
    first = state_->pick();
    if (!first) return;
    ++state_->askers;
  }
  const std::size_t taken = first->id;
  const bool slow = first->failed_before;
  try {
    std::thread([state = state_, question = std::move(*first)] { state->work(question); }).detach();
  } catch (const std::system_error& error) {
    {
      const std::lock_guard lock(state_->mutex);
      --state_->askers;
      state_->slow_askers -= slow ? 1 : 0;
    }
    NameAnswer answer;
    answer.id = taken;
    answer.problem = error.what();
    state_->deliver(std::move(answer));
  }
}

std::vector<NameAnswer> Names::take() {
  std::uint64_t count = 0;
  while (::read(state_->wake.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->answers, {});
}

int Names::fd() const { return state_->wake.get(); }

}  // namespace wattle::agent
