#include "actuator/unit_helper.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "actuator/sandbox.hpp"

namespace wattle::actuator {

namespace {
template <std::size_t N>
void put_text(std::array<char, N>& where, std::string_view text) {
  const std::size_t n = std::min(text.size(), N - 1);
  std::copy_n(text.data(), n, where.data());
  where[n] = '\0';
}

// Text in a buffer of untrusted content; at most the whole buffer.
template <std::size_t N>
std::string text_in(const std::array<char, N>& where) {
  return {where.data(), ::strnlen(where.data(), N)};
}
}  // namespace

struct UnitHelper::Question {
  enum class What : std::uint32_t { cgroup, read, write };
  What what = What::cgroup;
  std::uint32_t number = 0;
  std::uint32_t property = 0;
  std::uint32_t unused = 0;
  std::uint64_t value = 0;
  std::array<char, 256> unit{};
};

struct UnitHelper::Answer {
  std::uint32_t number = 0;
  std::int32_t failed = -1;  // otherwise an Errc
  std::uint64_t value = 0;
  std::array<char, 4096> text{};  // the cgroup, or the error
  std::array<char, 512> subject{}, fix{};
};

Result<std::unique_ptr<UnitHelper>> UnitHelper::start(const Make& make, std::chrono::milliseconds patience) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return fail_errno(errno, "socketpair");
  Fd mine(ends[0]), theirs(ends[1]);
  const pid_t self = ::getpid();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno(errno, "fork", "allow one more process (TasksMax)");
  if (child > 0) return std::unique_ptr<UnitHelper>(new UnitHelper(std::move(mine), patience));

  mine = Fd();
  // systemd signals all processes of a unit; the helper ignores this and ends after its parent, which first restores
  // the originals.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != self) ::_exit(0);
  const auto manager = make();
  if (const auto given_up = give_up_rights(Work::units); !given_up) {
    std::fprintf(stderr, "wattle-actuator: %s\n", given_up.error().message().c_str());
    ::_exit(1);
  }
  serve(theirs, *manager);
  ::_exit(0);
}

void UnitHelper::serve(const Fd& peer, UnitManager& manager) {
  for (;;) {
    Question question;
    const ssize_t n = ::recv(peer.get(), &question, sizeof question, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n != static_cast<ssize_t>(sizeof question)) return;
    const Answer said = answer(question, manager);
    if (::send(peer.get(), &said, sizeof said, MSG_NOSIGNAL) < 0) return;
  }
}

UnitHelper::Answer UnitHelper::answer(const Question& question, UnitManager& manager) {
  Answer out;
  out.number = question.number;
  const auto report = [&](const Error& error) {
    out.failed = static_cast<std::int32_t>(error.code);
    put_text(out.text, error.what);
    put_text(out.subject, error.subject);
    put_text(out.fix, error.fix);
  };
  const std::string unit = text_in(question.unit);
  if (!is_unit_name(unit) || question.property >= kUnitPropertyNames.size()) {
    report({Errc::malformed, "question", "is not a message about a unit", ""});
    return out;
  }
  const auto property = static_cast<UnitProperty>(question.property);
  switch (question.what) {
    case Question::What::cgroup:
      if (const auto path = manager.cgroup_of(unit); !path)
        report(path.error());
      else if (path->size() >= out.text.size())
        report({Errc::out_of_range, unit, "the path of its cgroup is too long", ""});
      else
        put_text(out.text, *path);
      return out;
    case Question::What::read:
      if (const auto value = manager.read(unit, property))
        out.value = *value;
      else
        report(value.error());
      return out;
    case Question::What::write:
      if (const auto written = manager.write(unit, property, question.value); !written) report(written.error());
      return out;
  }
  report({Errc::malformed, "question", "is an unknown message", ""});
  return out;
}

// Returns false if no answer arrives within the timeout, or the helper has ended.
bool UnitHelper::receive(std::chrono::milliseconds timeout, Answer& answer) {
  pollfd waiting{peer_.get(), POLLIN, 0};
  timespec span{};
  span.tv_sec = static_cast<time_t>(timeout.count() / 1000);
  span.tv_nsec = static_cast<long>(timeout.count() % 1000) * 1'000'000;
  if (::ppoll(&waiting, 1, &span, nullptr) <= 0) return false;
  const ssize_t n = ::recv(peer_.get(), &answer, sizeof answer, MSG_DONTWAIT);
  if (n == static_cast<ssize_t>(sizeof answer)) {
    answered_ = answer.number;
    return true;
  }
  gone_ = gone_ || n >= 0 || (errno != EAGAIN && errno != EINTR);
  return false;
}

Result<UnitHelper::Answer> UnitHelper::ask(Question question, const std::string& unit) {
  if (!is_unit_name(unit)) return fail(Errc::malformed, unit, "is not the name of a service, scope or slice");
  const auto lost = [&](bool sent) {
    // The result of a request that was sent is unknown.
    const Errc code = sent && question.what == Question::What::write ? Errc::timeout : Errc::unavailable;
    return fail(code, unit, "the helper process for systemd has ended", "restart wattle-actuator");
  };
  Answer said;
  if (asked_ != answered_) receive(std::chrono::milliseconds(0), said);
  if (gone_) return lost(false);
  if (asked_ != answered_) return fail(Errc::timeout, unit, "systemd has not answered yet");
  question.number = ++asked_;
  put_text(question.unit, unit);
  if (::send(peer_.get(), &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(sizeof question)) {
    gone_ = true;
    return lost(false);
  }
  if (!receive(patience_, said)) {
    if (gone_) return lost(true);
    return fail(Errc::timeout, unit, "systemd does not answer within " + std::to_string(patience_.count()) + " ms");
  }
  if (said.failed >= 0)
    return fail(static_cast<Errc>(said.failed), text_in(said.subject), text_in(said.text), text_in(said.fix));
  return said;
}

Result<std::string> UnitHelper::cgroup_of(const std::string& unit) {
  WATTLE_TRY(const Answer said, ask({.what = Question::What::cgroup}, unit));
  return text_in(said.text);
}

Result<std::uint64_t> UnitHelper::read(const std::string& unit, UnitProperty property) {
  WATTLE_TRY(const Answer said,
             ask({.what = Question::What::read, .property = static_cast<std::uint32_t>(property)}, unit));
  return said.value;
}

Status UnitHelper::write(const std::string& unit, UnitProperty property, std::uint64_t value) {
  WATTLE_CHECK(
      ask({.what = Question::What::write, .property = static_cast<std::uint32_t>(property), .value = value}, unit));
  return {};
}

}  // namespace wattle::actuator
