#include "common/seqpacket.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "temp_dir.hpp"

using namespace wattle;

TEST_CASE("a missing peer, a pending message, a truncated message and an end are distinguished") {
  const wattle::test::TempDir dir;
  const std::string path = dir.path() + "/s";
  CHECK(connect_seqpacket(path).error().code == Errc::unavailable);
  CHECK(connect_seqpacket(std::string(200, 'x')).error().code == Errc::out_of_range);
  const Fd listener(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  const auto client = connect_seqpacket(path);
  REQUIRE(client);
  Fd server(::accept(listener.get(), nullptr, nullptr));
  REQUIRE(server.valid());
  CHECK_FALSE(*receive_packet(server, 10, std::chrono::milliseconds(0)));
  REQUIRE(send_packet(*client, "one"));
  REQUIRE(send_packet(*client, std::string(50, 'y')));
  CHECK(**receive_packet(server, 10, std::chrono::seconds(10)) == "one");
  // One byte above the limit shows that the message was longer.
  CHECK((*receive_packet(server, 10, std::chrono::seconds(10)))->size() == 11);
  server = Fd();
  CHECK(receive_packet(*client, 10, std::chrono::seconds(10)).error().code == Errc::unavailable);
  CHECK_FALSE(send_packet(*client, "x"));
}
