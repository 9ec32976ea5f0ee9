#include "common/kube/copy.hpp"

namespace wattle::kube {

template class Copy<Node>;
template class Copy<Pod>;

}  // namespace wattle::kube
