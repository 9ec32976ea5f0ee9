// scripted_controller: answers the query `provision` for a workload with a row that a test sets, over a real socket
// with CURVE and the allow list.
// Usage    scripted_controller KEY ALLOW-LIST FILE: FILE has a JSON object of rows by workload, and is read at each query
// Output   the line with its endpoint
// Ends     when standard input is closed
// Errors   exit 1, with the reason
#include <poll.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "common/json/value.hpp"
#include "common/transport/sockets.hpp"
#include "common/wire/codec.hpp"

namespace {

using namespace wattle;

wire::Reply answer(const wire::Query& query, const std::string& file) {
  wire::Reply reply;
  reply.request_id = query.request_id;
  std::ifstream in(file);
  const OrderedJson rows = OrderedJson::parse(std::string(std::istreambuf_iterator<char>(in), {}));
  const auto workload = query.arguments.find("workload");
  if (query.what != "provision" || workload == query.arguments.end() || !rows.contains(workload->second)) {
    reply.error = query.what + " is not in the script";
    return reply;
  }
  OrderedJson document = OrderedJson::object();
  document["workloads"] = OrderedJson::array();
  document["workloads"].push_back(rows[workload->second]);
  reply.ok = true;
  reply.body = document.dump();
  return reply;
}

bool has_parent() {
  pollfd input{0, POLLIN, 0};
  return ::poll(&input, 1, 0) == 0;
}

Status serve(const std::string& key, const std::string& allow, const std::string& file) {
  const Log log("scripted-controller", LogLevel::info, LogFormat::json);
  transport::Context context;
  WATTLE_TRY(auto allowed, transport::AllowList::load(allow));
  context.serve(std::move(allowed), log);
  transport::ServerOptions options;
  options.endpoint = "tcp://127.0.0.1:0";
  WATTLE_TRY(options.key, transport::KeyPair::load(key));
  WATTLE_TRY(auto server, transport::Server::bind(context, options));
  std::cout << server.endpoint() << std::endl;
  while (has_parent()) {
    const transport::Socket* sockets[] = {&server};
    transport::poll(sockets, {}, std::chrono::milliseconds(50));
    while (const auto incoming = server.receive()) {
      const auto message = wire::decode(incoming->bytes);
      if (!message || !std::holds_alternative<wire::Query>(*message)) continue;
      server.send(incoming->route, wire::encode(answer(std::get<wire::Query>(*message), file)));
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: scripted_controller KEY ALLOW-LIST FILE\n";
    return 1;
  }
  const wattle::Status served = serve(argv[1], argv[2], argv[3]);
  if (!served) std::cerr << served.error().message() << "\n";
  return served ? 0 : 1;
}
