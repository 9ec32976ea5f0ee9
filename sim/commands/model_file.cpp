#include "sim/commands/model_file.hpp"

#include "common/dir.hpp"

namespace wattle::sim::commands {

namespace {
constexpr std::size_t kMaxModelBytes = 64 << 20;
}

Result<models::Safetensors> read_model(const std::string& file) {
  const auto slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  WATTLE_TRY(const auto dir, Dir::open_(folder));
  WATTLE_TRY(const auto bytes,
             dir.read_file(slash == std::string::npos ? file : file.substr(slash + 1), kMaxModelBytes));
  return models::parse_safetensors(bytes, file);
}

Status write_model(const std::string& file, const models::Safetensors& model) {
  return write_file_atomically(file, models::to_safetensors(model));
}

}  // namespace wattle::sim::commands
