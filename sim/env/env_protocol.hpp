// env_protocol: serves Env over JSON lines, one request and one answer per line. docs/reference/simulator.md describes
// both for client authors.
// Source   a line of text, at most kMaxRequestBytes
// Gives    one line of JSON without its newline; all numbers are finite
// Shapes   observation.nodes [N][kNodeFeatures], pod [kPodFeatures], context [kContextFeatures], prior [N], mask [N]
// Units    as Env; energy_j and time_s of the episode are reported only at its end, because they are truth
// Errors   parse_env_request: malformed, out_of_range, naming the field; answer() returns every error as a line
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "common/result.hpp"
#include "sim/env/env.hpp"

namespace wattle::sim {

inline constexpr int kEnvProtocol = 1;
inline constexpr std::size_t kMaxRequestBytes = 4096;

struct HelloRequest {};
struct ResetRequest {
  std::uint64_t seed = 0;
};
struct StepRequest {
  std::uint64_t action = 0;
};
struct CloseRequest {};
using EnvRequest = std::variant<HelloRequest, ResetRequest, StepRequest, CloseRequest>;

// {"op":"hello"}, {"op":"reset","seed":7}, {"op":"step","action":2}, {"op":"close"}; unknown fields are rejected.
Result<EnvRequest> parse_env_request(std::string_view line);

// {"error":{"code","subject","what","fix"}}; invalid UTF-8 is replaced.
std::string error_line(const Error& error);

// Answers the requests of one client with an environment.
class EnvDialogue {
 public:
  virtual ~EnvDialogue() = default;
  std::string answer(std::string_view line);
  bool closed() const { return closed_; }

 private:
  virtual std::string hello() = 0;
  virtual std::string reset(std::uint64_t seed) = 0;
  virtual Result<std::string> step(std::uint64_t action) = 0;

  bool closed_ = false;
};

class EnvServer final : public EnvDialogue {
 public:
  explicit EnvServer(EnvOptions options) : env_(std::move(options)) {}

 private:
  std::string hello() override;
  std::string reset(std::uint64_t seed) override;
  Result<std::string> step(std::uint64_t action) override;

  Env env_;
};

}  // namespace wattle::sim
