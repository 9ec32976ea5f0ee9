// What the decider would say of any pod, for who cannot ask.
#include "controller/decisions/decider.hpp"
#include "placement/board.hpp"

namespace wattle::controller {

std::vector<wire::BoardClass> Decider::board() {
  const auto network = networks_.get();
  return placement::board_classes(state_.view({}, clock_.mono()), mind(usable(network)), options_, figures_.decisions,
                                  random_);
}

wire::BoardClass Decider::board_class(std::size_t number) {
  const auto network = networks_.get();
  return placement::board_class(number, state_.view({}, clock_.mono()), mind(usable(network)), options_,
                                figures_.decisions, random_);
}

}  // namespace wattle::controller
