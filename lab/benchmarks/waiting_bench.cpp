// waiting_bench: predicts the waiting share of measured cells with several models. lab/benchmarks/waiting.py measures
// the cells and prints the table.
// Reads    one cell per line: mean and variance of the cores wanted, available cores, cores used, measured waiting
//          share
// Gives    one line per cell: the share by placement/cluster/waiting's typical curve, by a curve fitted to every second
//          cell, and by the simulator's rule
#include <cstdio>
#include <vector>

#include "placement/cluster/waiting.hpp"
#include "sim/cluster/kernel.hpp"

namespace {
struct Cell {
  double mean = 0, variance = 0, cores = 0, used = 0, waited = 0;
};

double simulated(const Cell& cell) {
  wattle::sim::cluster::Machine machine;
  machine.cores = cell.cores;
  machine.blocked_cores = cell.mean;
  const wattle::sim::cluster::Kernel<double> kernel({machine}, {});
  return kernel.node(0).pressure_ratio;
}
}  // namespace

int main() {
  std::vector<Cell> cells;
  for (Cell cell;
       std::scanf("%lf %lf %lf %lf %lf", &cell.mean, &cell.variance, &cell.cores, &cell.used, &cell.waited) == 5;)
    cells.push_back(cell);
  wattle::placement::WaitingModel model;
  constexpr int kTimes = 200;  // repeats each cell: it counts as one second, and a node has been observed for longer
  for (int time = 0; time < kTimes; ++time)
    for (std::size_t i = 0; i < cells.size(); i += 2)
      model.observe(std::min(1.0, cells[i].used / cells[i].cores), cells[i].waited);
  const auto typical = wattle::placement::WaitingModel::typical();
  for (const Cell& cell : cells)
    std::printf("%f %f %f\n", typical.wait(cell.mean, cell.variance, cell.cores),
                model.curve().wait(cell.mean, cell.variance, cell.cores), simulated(cell));
  return 0;
}
