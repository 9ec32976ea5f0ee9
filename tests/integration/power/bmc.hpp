// bmc: an in-process Redfish service with one machine, which a test can make hostile.
// Threads  handlers run on the server's threads; the rest from the test's
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base64.hpp"
#include "common/http/server.hpp"

namespace wattle::controller::power::test {

class Bmc {
 public:
  static constexpr const char* kSystem = "/redfish/v1/Systems/1";
  static constexpr const char* kReset = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
  static constexpr const char* kUser = "wattle";
  static constexpr const char* kPassword = "pa\"ss \\w0rd";
  static constexpr const char* kToken = "token-of-the-session";

  struct Seen {
    std::string what;           // "GET /redfish/v1/Systems"
    std::string authorization;  // header
    std::string body;
  };

  explicit Bmc(http::TlsFiles tls = {}) {
    http::ServerOptions options;
    options.tls = std::move(tls);
    http::Routes routes;
    for (const char* method : {"GET", "POST", "DELETE"})
      routes[std::string(method) + " /redfish/"] = {[this](const http::Request& request) { return answer(request); },
                                                    4096};
    auto started = http::Server::start(options, std::move(routes), log_);
    if (!started) FAIL(started.error().message());
    server_.emplace(std::move(*started));
  }
  ~Bmc() { server_.reset(); }
  Bmc(const Bmc&) = delete;
  Bmc& operator=(const Bmc&) = delete;

  std::string port() const { return std::to_string(server_->port()); }
  // Answers requests such as "GET /redfish/v1/Systems" with this instead of the machine's answer.
  void answers(const std::string& what, http::Response response) {
    const std::lock_guard lock(mutex_);
    instead_[what] = std::move(response);
  }
  void put_state(const std::string& state) {
    const std::lock_guard lock(mutex_);
    state_ = state;
  }
  void refuse_basic() {
    const std::lock_guard lock(mutex_);
    sessions_only_ = true;
  }
  // Executes the order, and then answers that it comes too late.
  void fulfils_and_refuses() {
    const std::lock_guard lock(mutex_);
    refuses_ = true;
  }
  void reset_types(const std::string& list) {
    const std::lock_guard lock(mutex_);
    reset_types_ = list;
  }
  std::vector<Seen> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::vector<std::string> resets() const {
    std::vector<std::string> bodies;
    for (const Seen& one : seen())
      if (one.what == std::string("POST ") + kReset) bodies.push_back(one.body);
    return bodies;
  }

 private:
  static http::Response json(std::string body, int status = 200) {
    return {status, "application/json", std::move(body), {}, nullptr};
  }
  bool is_known(const http::Request& request) const {
    const auto token = request.headers.find("x-auth-token");
    if (token != request.headers.end()) return token->second == kToken;
    const std::string pair = std::string(kUser) + ":" + kPassword;
    return !sessions_only_ && request.authorization == "Basic " + base64_encode(pair);
  }
  std::string system() const {
    return R"({"PowerState": ")" + state_ + R"(", "Actions": {"#ComputerSystem.Reset": {"target": ")" + kReset +
           R"(", "ResetType@Redfish.AllowableValues": )" + reset_types_ +
           R"(}}, "Links": {"Chassis": [{"@odata.id": "/redfish/v1/Chassis/1"}]}})";
  }
  http::Response open_session(const http::Request& request) const {
    const bool right = request.body.find("\"UserName\":\"wattle\"") != std::string::npos &&
                       request.body.find(R"("Password":"pa\"ss \\w0rd")") != std::string::npos;
    if (!right) return json(R"({"error": {"message": "no such user"}})", 401);
    http::Response opened = json("{}", 201);
    opened.headers = {{"X-Auth-Token", kToken}, {"Location", "/redfish/v1/SessionService/Sessions/7"}};
    return opened;
  }
  http::Response reset(const http::Request& request) {
    if (request.body.find("GracefulShutdown") != std::string::npos)
      state_ = "Off";
    else if (request.body.find("On\"") != std::string::npos)
      state_ = "On";
    else
      return json(R"({"error": {"message": "no such ResetType"}})", 400);
    return refuses_ ? json(R"({"error": {"message": "already there"}})", 409) : json("", 204);
  }
  http::Response answer(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    const std::string what = request.method + " " + request.path;
    seen_.push_back({what, request.authorization, request.body});
    if (const auto found = instead_.find(what); found != instead_.end()) return found->second;
    if (what == "POST /redfish/v1/SessionService/Sessions") return open_session(request);
    if (!is_known(request)) return json(R"({"error": {"message": "no such user"}})", 401);
    if (what == "GET /redfish/v1/Systems") return json(R"({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]})");
    if (what == std::string("GET ") + kSystem) return json(system());
    if (what == std::string("POST ") + kReset) return reset(request);
    if (what == "GET /redfish/v1/Chassis/1") return json(R"({"Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"}})");
    if (what == "GET /redfish/v1/Chassis/1/Power")
      return json(std::string(R"({"PowerControl": [{"PowerConsumedWatts": )") + (state_ == "On" ? "95" : "9.75") +
                  "}]}");
    if (what == "DELETE /redfish/v1/SessionService/Sessions/7") return json("", 204);
    return json(R"({"error": {"message": "no such resource"}})", 404);
  }

  mutable std::mutex mutex_;
  std::string state_ = "On", reset_types_ = R"(["On", "ForceOff", "GracefulShutdown"])";
  bool sessions_only_ = false, refuses_ = false;
  std::map<std::string, http::Response> instead_;
  std::vector<Seen> seen_;
  Log log_ = Log::silent();
  std::optional<http::Server> server_;
};

}  // namespace wattle::controller::power::test
