// slow_server: an HTTP server for tests with scripted delays and answers, and its own log of response times.
// Errors   REQUIRE
// Threads  one for each connection; functions are called by all of them
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "common/dir.hpp"

namespace wattle::load {

inline const std::string kOkAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class SlowServer {
 public:
  // The answer to the nth request (from 0), sent after `before` has returned; `closes` ends the connection.
  struct Manners {
    std::function<void(std::size_t nth)> before = [](std::size_t) {};
    std::function<std::string(std::size_t nth)> answer = [](std::size_t) { return kOkAnswer; };
    bool closes = false;
  };
  explicit SlowServer(Manners manners)
      : manners_(std::move(manners)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::listen(listener_.get(), 512) == 0);
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    acceptor_ = std::thread([this] { accept(); });
  }
  ~SlowServer() {
    stopping_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const Fd& peer : peers_) ::shutdown(peer.get(), SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  std::uint16_t port() const { return port_; }
  std::size_t requests() const { return requests_; }
  bool stopping() const { return stopping_; }
  // From the last byte of the request until before the first byte of the answer.
  std::vector<double> took_ms() const {
    const std::lock_guard lock(mutex_);
    return took_ms_;
  }

 private:
  void accept() {
    for (;;) {
      Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.valid()) return;
      const std::lock_guard lock(mutex_);
      const int fd = peer.get();
      peers_.push_back(std::move(peer));
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }
  void serve(int peer) {
    const SystemClock clock;
    std::string bytes;
    for (char chunk[4096];;) {
      const ssize_t got = ::recv(peer, chunk, sizeof chunk, 0);
      if (got <= 0) return;
      bytes.append(chunk, static_cast<std::size_t>(got));
      for (std::size_t end; (end = bytes.find("\r\n\r\n")) != std::string::npos;) {
        bytes.erase(0, end + 4);
        const std::size_t nth = requests_++;
        const MonoTime arrived = clock.mono();
        manners_.before(nth);
        const std::string answer = manners_.answer(nth);
        {
          const std::lock_guard lock(mutex_);
          took_ms_.push_back(seconds(clock.mono() - arrived) * 1e3);
        }
        (void)::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
        if (!manners_.closes) continue;
        ::shutdown(peer, SHUT_RDWR);
        return;
      }
    }
  }

  Manners manners_;
  Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> requests_ = 0;
  mutable std::mutex mutex_;
  std::vector<double> took_ms_;
  std::vector<Fd> peers_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace wattle::load
