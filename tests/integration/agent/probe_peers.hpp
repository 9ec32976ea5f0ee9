// probe_peers: scripted listeners that probes connect to in tests, and helpers that wait for counts.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "agent/collect/probe.hpp"
#include "common/clock.hpp"
#include "common/dir.hpp"
#include "common/log.hpp"
#include "tests/patience.hpp"

namespace wattle::agent::test {

// A thread with an event that asks it to end.
class Worker {
 public:
  Worker() : stop_(::eventfd(0, EFD_CLOEXEC)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { end(); }
  void run(std::function<void()> work) { thread_ = std::thread(std::move(work)); }
  void end() {
    if (!thread_.joinable()) return;
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  // Returns whether `fd` became readable before the end event (-1: waits for the end event) or `span`.
  bool wait(int fd, std::chrono::milliseconds span = std::chrono::milliseconds(-1)) const {
    std::array<pollfd, 2> fds{{{stop_.get(), POLLIN, 0}, {fd, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), static_cast<int>(span.count()));
    return fds[0].revents == 0 && fds[1].revents != 0;
  }

 private:
  Fd stop_;
  std::thread thread_;
};

// A TCP listener on loopback. Reads the first bytes of each connection, waits for `delay`, sends `answer` and closes.
// Without an answer it keeps the connection open and silent.
class Listener {
 public:
  explicit Listener(std::string answer, std::chrono::milliseconds delay = {})
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)), delay_(delay) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    REQUIRE(::listen(socket_.get(), 64) == 0);
    port = ntohs(address.sin_port);
    worker_.run([this] { serve(); });
  }

  std::uint16_t port = 0;

 private:
  void serve() {
    std::vector<Fd> kept;
    while (worker_.wait(socket_.get())) {
      Fd connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (answer_.empty()) {
        kept.push_back(std::move(connection));
        continue;
      }
      std::array<char, 4096> request;
      if (!worker_.wait(connection.get(), tests::soon())) return;
      if (::recv(connection.get(), request.data(), request.size(), 0) <= 0) continue;
      if (delay_.count() > 0) worker_.wait(-1, delay_);
      ::send(connection.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
    }
  }

  Fd socket_;
  std::string answer_;
  std::chrono::milliseconds delay_;
  Worker worker_;
};

// A loopback port without a listener for the lifetime of the object.
struct ClosedPort {
  ClosedPort() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port = ntohs(address.sin_port);
  }
  Fd socket;
  std::uint16_t port = 0;
};

inline ProbeTarget target(std::string name, ProbeKind kind, std::string host, std::uint16_t port = 0,
                          Duration timeout = std::chrono::seconds(10)) {
  ProbeTarget made;
  made.name = std::move(name);
  made.kind = kind;
  made.host = std::move(host);
  made.port = port;
  made.interval = made.timeout = timeout;
  return made;
}

inline const SystemClock kClock;
inline const Log kLog = Log::silent();
inline Prober prober_of(std::vector<ProbeTarget> targets) { return *Prober::open_(std::move(targets), kClock, kLog); }

inline std::uint64_t count(Prober& prober, std::size_t which, ProbeEnd end) {
  return prober.counts()[which].by_end[static_cast<std::size_t>(end)];
}

inline bool eventually(const std::function<bool()>& so) { return tests::wait_until(so); }

}  // namespace wattle::agent::test
