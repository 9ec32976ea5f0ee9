// waiting_bench: what models of waiting say of measured cells; bench/waiting.py measures them and prints the table.
// Reads    lines of mean and variance of the cores wanted, cores there are, cores used, share that was waited
// Gives    a line each: the share by placement/waiting's typical curve, by a curve fitted to every second line, by the simulator's rule
#include <cstdio>
#include <vector>

#include "placement/waiting.hpp"
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
  constexpr int kTimes = 200;  // a cell is a reading of a second; a node has been heard for longer
  for (int time = 0; time < kTimes; ++time)
    for (std::size_t i = 0; i < cells.size(); i += 2)
      model.observe(std::min(1.0, cells[i].used / cells[i].cores), cells[i].waited);
  const auto typical = wattle::placement::WaitingModel::typical();
  for (const Cell& cell : cells)
    std::printf("%f %f %f\n", typical.wait(cell.mean, cell.variance, cell.cores),
                model.curve().wait(cell.mean, cell.variance, cell.cores), simulated(cell));
  return 0;
}
