// expiry: certificates that end soon, before whoever needs them is locked out.
// Source   PEM texts: an extender's tlsConfig in a KubeSchedulerConfiguration (files where this machine has them, or inline), the ConfigMap
//          wattle-public of an installation
// Threads  pure, but for files that a configuration names
#pragma once

#include <string>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/clock.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

void judge_expiry(Findings& out, const std::string& name, const std::string& pem, WallTime now,
                  const std::string& mend);
// Of the extenders; a file that is not here is another machine's.
std::vector<Finding> judge_extender_certificates(const std::vector<OrderedJson>& documents, const std::string& where,
                                                 WallTime now);

}  // namespace wattle::cli
