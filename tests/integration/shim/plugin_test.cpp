// The socket for the scheduler plugin on a running shim.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <msgpack.hpp>
#include <vector>

#include "common/http/client.hpp"
#include "shim/plugin_link.hpp"
#include "shim/plugin_wire.hpp"
#include "tests/integration/shim/world.hpp"
#include "tests/patience.hpp"

using namespace std::chrono_literals;
using namespace wattle;
using namespace wattle::shim;
using tests::World;

namespace {

std::string frame_of(const std::string& message) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(static_cast<unsigned char>(message.size() >> shift));
  return out + message;
}

template <class... Field>
std::string request_of(PluginKind kind, std::uint64_t id, const Field&... fields) {
  msgpack::sbuffer buffer;
  msgpack::packer<msgpack::sbuffer> packer(buffer);
  packer.pack_array(3 + sizeof...(fields));
  packer.pack_uint64(kPluginVersion);
  packer.pack_uint8(static_cast<std::uint8_t>(kind));
  packer.pack_uint64(id);
  (packer.pack(fields), ...);
  return frame_of({buffer.data(), buffer.size()});
}

std::string pod_json(int pod) {
  return R"({"metadata":{"uid":"pod-)" + std::to_string(pod) +
         R"("},"spec":{"schedulerName":"wattle","containers":[]}})";
}

std::string scores_wanted(int pod, const std::vector<std::string>& candidates = {"a", "b", "new"}) {
  return request_of(PluginKind::scores_wanted, static_cast<std::uint64_t>(pod), pod_json(pod), candidates);
}

// A blocking client of the socket; waits at most soon().
class Peer {
 public:
  explicit Peer(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    timeval wait{};
    wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(tests::soon()).count();
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    connected = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  void send(std::string_view bytes) const {
    static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  // Empty if the connection has ended.
  std::string receive() const {
    std::string head(kPluginLengthBytes, '\0');
    if (::recv(socket_.get(), head.data(), head.size(), MSG_WAITALL) != static_cast<ssize_t>(head.size())) return {};
    std::string body(*plugin_length(head), '\0');
    if (::recv(socket_.get(), body.data(), body.size(), MSG_WAITALL) != static_cast<ssize_t>(body.size())) return {};
    return head + body;
  }
  std::string ask(const std::string& frame) const {
    send(frame);
    return receive();
  }
  bool connected = false;

 private:
  Fd socket_;
};

using Points = std::vector<std::int64_t>;

std::string scored(int pod, const Points& points) { return encode_scores(static_cast<std::uint64_t>(pod), points); }

ShimConfig with_socket(const World& world) {
  ShimConfig config = world.config();
  config.plugin_socket = (world.folder / "plugin.sock").string();
  return config;
}

// Asks for one new pod after another until an answer has these scores.
bool comes_to(const Peer& peer, const Points& wanted, int& pod) {
  const SystemClock clock;
  const MonoTime until = clock.mono() + tests::soon();
  while (clock.mono() < until) {
    ++pod;
    if (peer.ask(scores_wanted(pod)) == scored(pod, wanted)) return true;
  }
  return false;
}

const Points kController{10, 4, 4}, kBoard{1, 10, 0}, kNone{0, 0, 0};

}  // namespace

TEST_CASE("the plugin gets the extender's answers: from the controller, the board, or neutral, also on retry") {
  World world;
  world.start_controller();
  const auto config = with_socket(world);
  const auto service = Service::start(config, world.clock, world.log, world.notify);
  REQUIRE(service);
  const Peer peer(config.plugin_socket);
  int pod = 0;
  CHECK(comes_to(peer, kController, pod));
  const int asks = world.controller->asks;
  http::Client extender("127.0.0.1", service->port());
  const auto again = extender.request("POST", "/prioritize",
                                      R"({"Pod":)" + pod_json(pod) + R"(,"NodeNames":["b","a","new"]})", tests::soon());
  CHECK(again->body == R"([{"Host":"b","Score":4},{"Host":"a","Score":10},{"Host":"new","Score":4}])");
  CHECK(peer.ask(scores_wanted(pod)) == scored(pod, kController));
  CHECK(world.controller->asks == asks);  // both came from the answer to the first

  world.controller->hung = true;
  CHECK(comes_to(peer, kBoard, pod));
  world.controller->ttl_ms = 1;
  CHECK(comes_to(peer, kNone, pod));
  world.controller->hung = false;
  world.controller->ttl_ms = 60'000;
  CHECK(comes_to(peer, kController, pod));
  const auto metrics = extender.request("GET", "/metrics", "", tests::soon());
  CHECK(metrics->body.find("wattle_shim_requests_total{code=\"200\",verb=\"plugin_scores\"}") != std::string::npos);
}

TEST_CASE("the board's best nodes are listed in order, up to the requested number, and none while it is stale") {
  World world;
  world.start_controller();
  const auto config = with_socket(world);
  const auto service = Service::start(config, world.clock, world.log, world.notify);
  REQUIRE(service);
  const Peer peer(config.plugin_socket);
  const auto named = [&](std::uint64_t most) { return peer.ask(request_of(PluginKind::nodes_wanted, 7, 0.25, most)); };
  using Names = std::vector<std::string>;
  CHECK(tests::wait_until([&] { return named(9) == encode_nodes(7, Names{"b", "a"}); }));
  CHECK(named(1) == encode_nodes(7, Names{"b"}));
  world.controller->ttl_ms = 1;
  CHECK(tests::wait_until([&] { return named(9) == encode_nodes(7, Names{}); }));
}

TEST_CASE("a malformed message ends only its own connection") {
  World world;
  world.start_controller();
  const auto config = with_socket(world);
  const auto service = Service::start(config, world.clock, world.log, world.notify);
  REQUIRE(service);
  const Peer good(config.plugin_socket);
  int pod = 0;
  CHECK(comes_to(good, kController, pod));
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4, '\0'), std::string("\xff\xff\xff\xff", 4)}) {
    const Peer peer(config.plugin_socket);
    CHECK(peer.ask(garbage).empty());
  }
  for (const std::string& wrong :
       {frame_of("\xc1"), frame_of(std::string("\x93\x09\x01\x07", 4)),
        request_of(PluginKind::scores_wanted, 1, std::string("no pod"), std::vector<std::string>{"a"})}) {
    const Peer peer(config.plugin_socket);
    const std::string refusal = peer.ask(wrong);
    REQUIRE(refusal.size() > 8);
    CHECK(refusal[6] == static_cast<char>(PluginKind::refusal));
    CHECK(peer.receive().empty());
  }
  {
    const Peer half(config.plugin_socket);
    half.send(scores_wanted(1).substr(0, 20));
  }
  ++pod;
  CHECK(good.ask(scores_wanted(pod)) == scored(pod, kController));
}

TEST_CASE("a request that arrives byte by byte and two requests in one packet are answered") {
  World world;
  world.start_controller();
  const auto config = with_socket(world);
  const auto service = Service::start(config, world.clock, world.log, world.notify);
  REQUIRE(service);
  const Peer peer(config.plugin_socket);
  int pod = 0;
  CHECK(comes_to(peer, kController, pod));
  for (const char byte : scores_wanted(++pod)) peer.send({&byte, 1});
  CHECK(peer.receive() == scored(pod, kController));
  peer.send(scores_wanted(pod + 1) + scores_wanted(pod + 2));
  CHECK(peer.receive() == scored(pod + 1, kController));
  CHECK(peer.receive() == scored(pod + 2, kController));
  const std::vector<std::string> many(20'000, std::string(100, 'n'));
  CHECK(peer.ask(scores_wanted(pod + 3, many)) == scored(pod + 3, Points(many.size(), 4)));
}

TEST_CASE("a ninth connection and a client that does not read its answers are closed") {
  World world;
  world.start_controller();
  const auto config = with_socket(world);
  const auto service = Service::start(config, world.clock, world.log, world.notify);
  REQUIRE(service);
  std::vector<Peer> peers;
  int pod = 0;
  for (std::size_t i = 0; i < kPluginPeers; ++i) {
    peers.emplace_back(config.plugin_socket);
    CHECK(comes_to(peers.back(), kController, pod));
  }
  CHECK(Peer(config.plugin_socket).ask(scores_wanted(++pod)).empty());
  std::string flood;
  for (int i = 0; i < 20'000; ++i) flood += request_of(PluginKind::nodes_wanted, 1, 1.0, 9);
  for (int i = 0; i < 20; ++i) peers.back().send(flood);
  while (!peers.back().receive().empty()) {
  }
  ++pod;
  CHECK(peers.front().ask(scores_wanted(pod)) == scored(pod, kController));
}

TEST_CASE("the socket has mode 0660, replaces a stale one, and is removed after a stop") {
  World world;
  world.start_controller();
  const auto config = with_socket(world);
  {
    const Fd left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    config.plugin_socket.copy(address.sun_path, config.plugin_socket.size());
    REQUIRE(::bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  {
    const auto service = Service::start(config, world.clock, world.log, world.notify);
    REQUIRE(service);
    struct stat info {};
    REQUIRE(::stat(config.plugin_socket.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0660);
    const auto second = Service::start(config, world.clock, world.log, world.notify);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == Errc::conflict);
    CHECK(Peer(config.plugin_socket).connected);
  }
  CHECK_FALSE(std::filesystem::exists(config.plugin_socket));
}
