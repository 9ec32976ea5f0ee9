#include "sim/reference/bound.hpp"

#include <algorithm>
#include <limits>

namespace wattle::sim::consolidation {

namespace {

struct Point {
  double cores = 0, watts = 0;
};
struct Piece {
  double slope_w = 0, cores = 0;
};

// Lower convex envelope of points with ascending cores, from left to right.
std::vector<Point> envelope(const std::vector<Point>& points) {
  std::vector<Point> hull;
  for (const Point& next : points) {
    while (hull.size() >= 2) {
      const Point &a = hull[hull.size() - 2], &b = hull.back();
      if ((b.watts - a.watts) * (next.cores - a.cores) < (next.watts - a.watts) * (b.cores - a.cores)) break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

}  // namespace

double lower_bound_w(const FillProblem& problem) {
  double wanted = 0, least_w = 0;
  for (const double demand : problem.demand_cores) wanted += demand;
  std::vector<Piece> pieces;
  for (const ServerModel& server : problem.servers) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < kWattPoints; ++i)
      points.push_back({server.cores * static_cast<double>(i) / static_cast<double>(kWattPoints - 1), server.watts[i]});
    if (problem.sleep) points.front().watts = std::min(points.front().watts, server.sleep_w);
    const std::vector<Point> hull = envelope(points);
    least_w += hull.front().watts;
    for (std::size_t i = 1; i < hull.size(); ++i)
      pieces.push_back({(hull[i].watts - hull[i - 1].watts) / (hull[i].cores - hull[i - 1].cores),
                        hull[i].cores - hull[i - 1].cores});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.slope_w < b.slope_w; });
  for (const Piece& piece : pieces) {
    if (wanted <= 0) break;
    const double taken = std::min(wanted, piece.cores);
    least_w += taken * piece.slope_w;
    wanted -= taken;
  }
  return wanted > 1e-9 ? std::numeric_limits<double>::infinity() : least_w;
}

}  // namespace wattle::sim::consolidation
