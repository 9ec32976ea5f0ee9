// expiry: reports certificates that expire soon, before they lock their users out.
// Source   PEM texts: an extender's tlsConfig in a KubeSchedulerConfiguration (files on this machine, or inline), the
//          ConfigMap wattle-public of an installation
// Threads  pure, except for files that a configuration names
#pragma once

#include <string>
#include <vector>

#include "cli/pre/finding.hpp"
#include "common/clock.hpp"
#include "common/json/value.hpp"

namespace wattle::cli {

void judge_expiry(Findings& out, const std::string& name, const std::string& pem, WallTime now, const std::string& fix);
// Checks the extenders' certificates; skips files that are missing here, because they are on another machine.
std::vector<Finding> judge_extender_certificates(const std::vector<OrderedJson>& documents, const std::string& where,
                                                 WallTime now);

}  // namespace wattle::cli
