#include "controller/web/store_metrics.hpp"

namespace wattle::controller {

void add_store(Families& families, const Store& store) {
  if (!store.on()) return;
  const StoreFigures figures = store.figures();
  families.gauge("wattle_controller_store_ok",
                 "1 if records are written to disk, 0 if writing fails and no record is acknowledged.",
                 figures.problem.empty() ? 1.0 : 0.0);
  families.gauge("wattle_controller_store_bytes", "Size of the store file.", static_cast<double>(figures.file_bytes));
  families.gauge("wattle_controller_store_queue_records", "Records waiting for a transaction.",
                 static_cast<double>(figures.queue_records));
  families.counter("wattle_controller_store_decisions_lost_total", "Decisions dropped because the disk was too slow.",
                   figures.decisions_lost);
}

}  // namespace wattle::controller
