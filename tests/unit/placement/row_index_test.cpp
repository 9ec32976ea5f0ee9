// row_index: a kept index equals a fresh one after any change of the view.
#include "placement/cluster/row_index.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

#include "placement/decide/decide.hpp"
#include "placement/decide/policies/registry.hpp"
#include "tests/unit/placement/views.hpp"

namespace wattle::placement {
namespace {

std::vector<std::size_t> found(RowIndex& index, const ClusterView& view, const std::vector<std::string>& names) {
  const auto rows = index.find(view, names);
  return {rows.begin(), rows.end()};
}

}  // namespace

TEST_CASE("names have the view's rows, and unknown names have none") {
  const ClusterView view = testing::random_view(1, 3);
  RowIndex index;
  CHECK(found(index, view, {"n2", "n0", "ghost", "n2"}) == std::vector<std::size_t>{2, 0, RowIndex::kNoRow, 2});
  CHECK(found(index, view, {"n1"}) == std::vector<std::size_t>{1});
  CHECK(found(index, view, {}).empty());
}

TEST_CASE("a kept index equals a fresh one while nodes join, leave and change rows") {
  CHECK(rc::check([] {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    ClusterView view = testing::random_view(random(), 1 + random() % 8);
    RowIndex kept;
    for (int round = 0; round < 6; ++round) {
      std::vector<std::string> names = testing::names_of(view);
      names.push_back("ghost");
      std::shuffle(names.begin(), names.end(), random);
      names.resize(random() % (names.size() + 1));
      RowIndex fresh;
      RC_ASSERT(found(kept, view, names) == found(fresh, view, names));
      switch (random() % 4) {
        case 0:
          std::shuffle(view.nodes.begin(), view.nodes.end(), random);
          break;
        case 1:
          view.nodes.push_back(testing::healthy_node("new" + std::to_string(random() % 1000)));
          break;
        case 2:
          if (view.nodes.size() > 1) view.nodes.erase(view.nodes.begin());
          break;
        default:
          view.nodes[0].name += "x";
      }
    }
  }));
}

TEST_CASE("a decision with a kept index equals one without") {
  const ClusterView view = testing::random_view(7, 20);
  std::vector<std::string> names = testing::names_of(view);
  names.insert(names.begin() + 3, "ghost");
  names.push_back("n4");  // named twice
  auto policy = make_policy("model-greedy");
  REQUIRE(policy);
  RowIndex index;
  for (int i = 0; i < 3; ++i) {
    std::mt19937_64 one(5), two(5);
    const PlacementDecision kept =
        decide(view, testing::small_pod(), names, {**policy, nullptr, nullptr, &index}, {}, 0, one);
    const PlacementDecision fresh = decide(view, testing::small_pod(), names, {**policy}, {}, 0, two);
    CHECK(kept.scores == fresh.scores);
    CHECK(kept.row_of == fresh.row_of);
    CHECK(kept.node == fresh.node);
    std::reverse(names.begin(), names.end());
  }
}

}  // namespace wattle::placement
