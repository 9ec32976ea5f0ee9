#include "controller/web/history_file.hpp"

#include "common/dir.hpp"
#include "controller/web/series.hpp"

namespace wattle::controller {

void recall_series(Series& series, const std::string& data_dir, const Log& log) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  const auto dir = Dir::open_(data_dir);
  if (!dir) return;  // the log has it, because the cluster model is kept there, too
  auto file = dir->open_file(std::string(kHistoryFile));
  if (!file && file.error().code == Errc::not_found) return;
  auto bytes = file ? file->read_all(kMostBytes) : Result<std::string>(forward_error(file));
  const Status recalled = bytes ? series.recall(*bytes) : Status(forward_error(bytes));
  if (!recalled)
    log.warn("history.unusable", "the saved history of the page is not usable", {{"error", recalled.error()}});
}

}  // namespace wattle::controller
