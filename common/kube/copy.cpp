#include "common/kube/copy.hpp"

#include "common/json/value.hpp"

namespace wattle::kube {

template class Copy<Node>;
template class Copy<Pod>;

}  // namespace wattle::kube
