// Probes in a private network: two namespaces, a link between them, and a scripted name server. Skipped, with the
// reason printed, if namespaces cannot be created.
#include <doctest/doctest.h>
#include <netinet/ip_icmp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>

#include "agent/collect/probe_icmp.hpp"
#include "probe_peers.hpp"

using namespace wattle;
using namespace wattle::agent;
using namespace wattle::agent::test;
using namespace std::chrono_literals;

namespace {
bool sh(const std::string& command) { return std::system(command.c_str()) == 0; }

// The other end of the link at 10.77.0.2. It answers pings with an odd sequence number after 20 ms (its kernel does
// not answer), drops packets for 192.0.2.0/24 and refuses packets for 198.51.100.0/24.
class ProbePeer {
 public:
  ProbePeer() {
    worker_.run([this] { live(); });
    const long tid = ready_.get_future().get();
    linked_ = tid > 0 && sh("ip link add wa0 type veth peer name wb0 netns " + std::to_string(tid)) &&
              sh("ip addr add 10.77.0.1/24 dev wa0 && ip link set wa0 up");
    go_.set_value();
    linked_ = done_.get_future().get() && linked_ &&
              sh("ip route add 192.0.2.0/24 via 10.77.0.2 && ip route add 198.51.100.0/24 via 10.77.0.2");
  }
  ~ProbePeer() { sh("ip link del wa0"); }
  bool linked() const { return linked_; }

 private:
  void live() {
    ready_.set_value(::unshare(CLONE_NEWNET) == 0 ? ::syscall(SYS_gettid) : -1);
    go_.get_future().wait();
    const Fd socket(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
    done_.set_value(
        socket.valid() && sh("ip addr add 10.77.0.2/24 dev wb0 && ip link set wb0 up") &&
        sh("echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all && echo 0 >/proc/sys/net/ipv4/icmp_ratelimit && "
           "echo 1 >/proc/sys/net/ipv4/ip_forward") &&
        sh("ip route add blackhole 192.0.2.0/24 && ip route add unreachable 198.51.100.0/24"));
    while (worker_.wait(socket.get())) {
      std::array<std::uint8_t, 256> packet;
      sockaddr_in from{};
      socklen_t length = sizeof from;
      const ssize_t n =
          ::recvfrom(socket.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (n != 20 + static_cast<ssize_t>(kEchoBytes) || packet[20] != ICMP_ECHO) continue;
      auto* reply = packet.data() + 20;
      if (reply[7] % 2 == 0) continue;
      reply[0] = ICMP_ECHOREPLY;
      const unsigned sum = (unsigned{reply[2]} << 8 | reply[3]) + 0x0800U, folded = (sum & 0xffff) + (sum >> 16);
      reply[2] = static_cast<std::uint8_t>(folded >> 8);
      reply[3] = static_cast<std::uint8_t>(folded);
      // An immediate reply of another sender: a reordered payload, which has the same checksum.
      auto forged = std::vector<std::uint8_t>(reply, reply + kEchoBytes);
      std::swap_ranges(forged.begin() + 8, forged.begin() + 10, forged.begin() + 10);
      ::sendto(socket.get(), forged.data(), forged.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
      worker_.wait(-1, 20ms);
      ::sendto(socket.get(), reply, kEchoBytes, 0, reinterpret_cast<sockaddr*>(&from), length);
    }
  }

  std::promise<long> ready_;
  std::promise<void> go_;
  std::promise<bool> done_;
  bool linked_ = false;
  Worker worker_;
};

// A name server on 127.0.0.1: web.test is 127.0.0.1, hang.test never gets an answer, other names do not exist.
class NameServer {
 public:
  NameServer() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(53);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    worker_.run([this] { serve(); });
  }

 private:
  void serve() {
    while (worker_.wait(socket_.get())) {
      std::array<char, 512> packet;
      sockaddr_in from{};
      socklen_t length = sizeof from;
      const ssize_t n =
          ::recvfrom(socket_.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (n < 17) continue;
      const std::string question(packet.data() + 12, static_cast<std::size_t>(n) - 12);
      if (question.find(std::string("\4hang\4test")) != std::string::npos) continue;
      const bool web = question.find(std::string("\3web\4test")) != std::string::npos;
      // The question ends with a zero byte, type and class.
      const std::size_t end = question.find('\0') + 5;
      std::string answer(packet.data(), 2);
      answer += web ? std::string("\x81\x80", 2) : std::string("\x81\x83", 2);  // no error, or no such name
      const bool address = web && question[end - 3] == 1;                       // type A
      answer += std::string("\0\1\0", 3) + (address ? '\1' : '\0') + std::string(4, '\0') + question.substr(0, end);
      if (address) answer += std::string("\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1", 16);
      ::sendto(socket_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
    }
  }
  Fd socket_;
  Worker worker_;
};

// Enters a private network and mounts with an own resolv.conf, once. Returns false without the privileges.
bool world() {
  static const bool made = [] {
    if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return false;
    char file[] = "/tmp/wattle-resolv-XXXXXX";
    const Fd fd(::mkstemp(file));
    std::ofstream(file) << "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n";
    const bool ok = ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    ::mount(file, "/etc/resolv.conf", nullptr, MS_BIND, nullptr) == 0 && sh("ip link set lo up");
    ::unlink(file);
    return ok;
  }();
  if (!made) std::printf("[skipped] no network and mount namespaces here: %s\n", std::strerror(errno));
  return made;
}
}  // namespace

TEST_CASE("a name that hangs or does not exist is a DNS failure of its own target only") {
  if (!world()) return;
  const NameServer names;
  const Listener web("HTTP/1.1 200 OK\r\n\r\n");
  Prober prober = prober_of({target("hang", ProbeKind::http, "hang.test", web.port, 300ms),
                             target("gone", ProbeKind::tcp, "gone.test", web.port, 5s),
                             target("web", ProbeKind::http, "web.test", web.port)});
  for (int i = 0; i < 3; ++i) prober.round();
  const auto values = prober.values();
  CHECK(values[0].dns_failures == 3);
  CHECK(values[0].sent == 3);
  CHECK(values[1].dns_failures == 3);
  CHECK(values[1].sent == 3);
  CHECK(values[2].sent == 3);
  CHECK(values[2].loss_ratio == 0);
}

TEST_CASE("more hanging names than resolver threads do not block another name") {
  if (!world()) return;
  const NameServer names;
  const Listener web("HTTP/1.1 200 OK\r\n\r\n");
  std::vector<ProbeTarget> targets;
  for (int i = 0; i < 12; ++i)
    targets.push_back(target("hang" + std::to_string(i), ProbeKind::http, "hang.test", web.port, 300ms));
  targets.push_back(target("web", ProbeKind::http, "web.test", web.port, 20s));
  Prober prober = prober_of(targets);
  prober.round();
  CHECK(count(prober, 12, ProbeEnd::answered) == 1);
  for (std::size_t i = 0; i < 12; ++i) CHECK(count(prober, i, ProbeEnd::dns) == 1);
}

TEST_CASE("loopback answers pings through raw sockets and, if the group is allowed, through ping sockets") {
  if (!world()) return;
  for (const bool raw : {true, false}) {
    CAPTURE(raw);
    REQUIRE(sh(std::string("echo '") + (raw ? "1 0" : "0 2147483647") + "' >/proc/sys/net/ipv4/ping_group_range"));
    const auto socket = open_ping(IpFamily::v4);
    REQUIRE_MESSAGE(socket.has_value(), socket.error().message());
    CHECK(socket->raw == raw);
    Prober prober = prober_of({target("v4", ProbeKind::icmp, "127.0.0.1"), target("also", ProbeKind::icmp, "127.0.0.1"),
                               target("v6", ProbeKind::icmp, "::1")});
    for (int i = 0; i < 3; ++i) prober.round();
    for (const auto& one : prober.values()) {
      CAPTURE(one.target);
      CHECK(one.kind == ProbeKind::icmp);
      CHECK(one.sent == 3);
      CHECK(one.loss_ratio == 0);
      CHECK(one.jitter_ms.has_value());
    }
  }
}

TEST_CASE("a peer's delay is in the median, a missing reply in the loss, and a forged reply in neither") {
  if (!world()) return;
  const ProbePeer peer;
  REQUIRE(peer.linked());
  for (const bool raw : {true, false}) {
    CAPTURE(raw);
    REQUIRE(sh(std::string("echo '") + (raw ? "1 0" : "0 2147483647") + "' >/proc/sys/net/ipv4/ping_group_range"));
    Prober prober = prober_of({target("peer", ProbeKind::icmp, "10.77.0.2", 0, 1500ms)});
    for (int i = 0; i < 4; ++i) prober.round();
    const auto values = prober.values();
    CHECK(values[0].sent == 4);
    CHECK(values[0].timeouts == 2);
    CHECK(values[0].loss_ratio == 0.5);
    REQUIRE(values[0].p50_ms.has_value());
    CHECK(*values[0].p50_ms >= 20);
  }
}

TEST_CASE("dropped, unreachable, routeless and refused probes are distinguished beyond a router") {
  if (!world()) return;
  const ProbePeer peer;
  REQUIRE(peer.linked());
  using enum ProbeKind;
  Prober prober =
      prober_of({target("dropped", tcp, "192.0.2.1", 80, 500ms), target("dropped-icmp", icmp, "192.0.2.1", 0, 500ms),
                 target("unreachable", tcp, "198.51.100.1", 80), target("unreachable-icmp", icmp, "198.51.100.1"),
                 target("routeless", http, "203.0.113.1", 80), target("routeless-icmp", icmp, "203.0.113.1"),
                 target("routeless-v6", tcp, "2001:db8::1", 80), target("refused", tcp, "10.77.0.2", 9)});
  for (int i = 0; i < 2; ++i) prober.round();
  const auto values = prober.values();
  for (const std::size_t i : {0U, 1U}) CHECK_MESSAGE(values[i].timeouts == 2, values[i].target);
  for (const std::size_t i : {2U, 3U, 4U, 5U, 6U}) CHECK_MESSAGE(values[i].unreachables == 2, values[i].target);
  CHECK(values[7].refusals == 2);
  for (const auto& one : values) CHECK(one.sent == 2);
}
