#include "controller/store/traces.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace wattle::controller {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kFiles{"cluster-model", "control.db-wal"};
constexpr std::string_view kDamaged = "control.db.damaged-";
constexpr std::size_t kReported = 2;

}  // namespace

std::vector<std::string> traces_of_before(const std::string& data_dir, const std::string& store_path) {
  std::vector<std::string> traces;
  std::error_code error;
  for (const std::string_view name : kFiles)
    if (const fs::path path = fs::path(data_dir) / name; fs::exists(path, error)) traces.push_back(path.string());
  for (const auto& entry : fs::directory_iterator(data_dir, error))
    if (entry.path().filename().string().starts_with(kDamaged)) traces.push_back(entry.path().string());
  const fs::path checkpoints = fs::path(data_dir) / "checkpoints";
  if (fs::directory_iterator(checkpoints, error) != fs::directory_iterator()) traces.push_back(checkpoints.string());
  if (!store_path.empty() && fs::exists(store_path, error)) traces.push_back(store_path);
  std::sort(traces.begin(), traces.end());
  return traces;
}

std::string reported_of(const std::vector<std::string>& traces) {
  std::string text;
  for (std::size_t i = 0; i < std::min(traces.size(), kReported); ++i) text += (i == 0 ? "" : ", ") + traces[i];
  if (traces.empty()) return text;
  if (traces.size() > kReported) text += " and " + std::to_string(traces.size() - kReported) + " more";
  return text + (traces.size() == 1 ? " is" : " are") + " from a previous controller";
}

bool is_emptied(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) == 0 && !error;
}

}  // namespace wattle::controller
