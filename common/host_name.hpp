// host_name: the name of this machine as a kubelet writes it.
// Source   gethostname(2); kubelets use it in lower case as the default name of their node
// Errors   none
// Threads  any
#pragma once

#include <string>
#include <string_view>

namespace wattle {

// Returns `host` in lower case, without blanks around it and without dots at its end.
std::string node_name_of(std::string_view host);

// Returns the name of this machine in that form; empty if it has none.
std::string host_name();

}  // namespace wattle
