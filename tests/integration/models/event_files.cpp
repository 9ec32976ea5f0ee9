// event_files FOLDER: writes a trainer's event files, split over several files; tensorboard_check.py expects the
// values.
#include <cmath>
#include <cstdio>

#include "models/frozen/event_file.hpp"

int main(int argc, char** argv) {
  using namespace wattle;
  if (argc != 2) return 2;
  auto dir = models::EventDir::open_(argv[1], 600);  // bytes: more than one file
  if (!dir) return 1;
  for (std::uint64_t step = 1; step <= 20; ++step) {
    const auto at = static_cast<double>(step);
    const Status written = dir->write(
        10 * step, wall_from_ns(static_cast<std::int64_t>(1'700'000'000 + step) * 1'000'000'000),
        {{"train/td_loss", 1 / at}, {"episode/return", -at}, {"reward/energy", step == 5 ? std::nan("") : 0.5}});
    if (!written) {
      std::fprintf(stderr, "%s\n", written.error().message().c_str());
      return 1;
    }
  }
  return 0;
}
