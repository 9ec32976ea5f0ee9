#include "controller/web/store_metrics.hpp"

namespace wattle::controller {

void add_store(Families& families, const Store& store) {
  if (!store.on()) return;
  const StoreFigures figures = store.figures();
  families.gauge("wattle_controller_store_ok",
                 "1 if records are written to disk, 0 if writing fails and no record is acknowledged.",
                 figures.problem.empty() ? 1.0 : 0.0);
  families.gauge("wattle_controller_store_bytes", "Size of the store file.", static_cast<double>(figures.file_bytes));
  families.gauge("wattle_controller_store_raw_records", "Raw records in the store.",
                 static_cast<double>(figures.raw_records));
  families.counter("wattle_controller_store_records_total", "Committed records.", figures.records);
  families.counter("wattle_controller_store_commits_total", "Transactions.", figures.commits);
  families.counter("wattle_controller_store_commits_failed_total", "Failed transactions; the controller retries them.",
                   figures.commits_failed);
  families.counter("wattle_controller_store_commit_seconds_total", "Duration of transactions.", figures.commit_s);
  families.gauge("wattle_controller_store_queue_records", "Records waiting for a transaction.",
                 static_cast<double>(figures.queue_records));
  families.gauge("wattle_controller_store_queue_bytes", "Approximate memory used by records waiting for a transaction.",
                 static_cast<double>(figures.queue_bytes));
  families.counter("wattle_controller_store_gaps_total",
                   "Gaps: ranges of record numbers that are missing from the store.", figures.gaps);
  families.counter("wattle_controller_store_gap_records_total", "Records in gaps.", figures.gap_records);
  families.gauge("wattle_controller_store_decisions", "Decisions in the store.",
                 static_cast<double>(figures.decisions));
  families.gauge("wattle_controller_store_decisions_bytes", "Approximate size of the decisions in the store.",
                 static_cast<double>(figures.decisions_bytes));
  families.counter("wattle_controller_store_decisions_lost_total", "Decisions dropped because the disk was too slow.",
                   figures.decisions_lost);
  families.counter("wattle_controller_store_damaged_files_total", "Damaged files that were moved aside.",
                   figures.damaged_files);
}

}  // namespace wattle::controller
