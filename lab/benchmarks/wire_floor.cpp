// wire_floor: measures the cost of only the telemetry link. A bare CURVE ROUTER sends agents the replies that they
// need and drops their records. lab/benchmarks/load.py runs it in place of the controller, with the same swarm.
//   wire_floor ENDPOINT KEY_FILE      prints a line once it listens; SIGTERM ends it
// It has no allow list: libzmq accepts every client with a key. Uses one thread besides those of libzmq.
#include <zmq.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "common/transport/keys.hpp"
#include "common/wire/codec.hpp"

using namespace wattle;

namespace {

volatile std::sig_atomic_t stopped = 0;

// Parses just enough msgpack to find the incarnation and seq of the last record. Samples is
// [version, 3, [record, ...], gaps]; a record begins with incarnation and seq. Batches, which agents send only after a
// pause, are decoded in full.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    const auto first = byte();
    if (first < 0x80) return first;
    std::uint64_t value = 0;
    for (int left = first >= 0xcc && first <= 0xcf ? 1 << (first - 0xcc) : 0; left > 0; --left)
      value = value << 8 | byte();
    return value;
  }
  std::uint64_t array() {
    const auto first = byte();
    if ((first & 0xf0U) == 0x90) return first & 0x0fU;
    return first == 0xdc ? (static_cast<std::uint64_t>(byte()) << 8 | byte()) : 0;
  }

 private:
  unsigned byte() { return at_ < bytes_.size() ? static_cast<unsigned char>(bytes_[at_++]) : 0; }
  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::optional<std::string> answer_to(std::string_view bytes) {
  Reader reader(bytes);
  reader.array();
  reader.number();
  switch (static_cast<wire::Kind>(reader.number())) {
    case wire::Kind::hello: {
      wire::Welcome welcome;
      welcome.max_batch = 64;
      welcome.max_message_bytes = 1 << 20;
      welcome.credit = 256;
      return wire::encode(welcome);
    }
    case wire::Kind::samples: {
      wire::Ack ack;
      ack.credit = 256;
      if (reader.array() == 1) {
        reader.array();
        ack.incarnation = reader.number();
        ack.seq = reader.number();
        return wire::encode(ack);
      }
      const auto message = wire::decode(bytes);
      const auto* samples = message ? std::get_if<wire::Samples>(&*message) : nullptr;
      if (samples == nullptr || samples->records.empty()) return std::nullopt;
      ack.incarnation = samples->records.back().incarnation;
      ack.seq = samples->records.back().seq;
      return wire::encode(ack);
    }
    case wire::Kind::ping:
      return wire::encode(wire::Pong{reader.number(), static_cast<std::int64_t>(reader.number()), 0, 0});
    default:
      return std::nullopt;
  }
}

int serve(const char* endpoint, const transport::KeyPair& key) {
  void* context = zmq_ctx_new();
  void* socket = zmq_socket(context, ZMQ_ROUTER);
  const int one = 1, backlog = 8192, zero = 0;
  zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &one, sizeof one);
  zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, key.secret_key.data(), key.secret_key.size());
  zmq_setsockopt(socket, ZMQ_BACKLOG, &backlog, sizeof backlog);
  zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero);
  if (zmq_bind(socket, endpoint) != 0) {
    std::fprintf(stderr, "wire_floor: %s: %s\n", endpoint, zmq_strerror(zmq_errno()));
    return 1;
  }
  std::printf("wire_floor listens at %s\n", endpoint);
  std::fflush(stdout);
  zmq_msg_t route, body;
  zmq_msg_init(&route);
  zmq_msg_init(&body);
  while (stopped == 0) {
    if (zmq_msg_recv(&route, socket, 0) < 0 || zmq_msg_recv(&body, socket, 0) < 0) continue;
    const auto answer = answer_to({static_cast<const char*>(zmq_msg_data(&body)), zmq_msg_size(&body)});
    if (!answer || zmq_msg_send(&route, socket, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) continue;
    zmq_send(socket, answer->data(), answer->size(), ZMQ_DONTWAIT);
  }
  zmq_msg_close(&route);
  zmq_msg_close(&body);
  zmq_close(socket);
  zmq_ctx_term(context);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: wire_floor ENDPOINT KEY_FILE\n");
    return 2;
  }
  const auto key = transport::KeyPair::load(argv[2]);
  if (!key) {
    std::fprintf(stderr, "wire_floor: %s\n", key.error().message().c_str());
    return 1;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { stopped = 1; };  // without SA_RESTART, so that a signal ends the wait
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  return serve(argv[1], *key);
}
