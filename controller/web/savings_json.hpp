// savings_json: the document `savings` and its metrics.
// Format   docs/reference/api.md, savings; docs/reference/metrics.md
// Bounds   `limit` items of each lever, and kMostKept nodes of each reason
// Errors   malformed (argument)
// Threads  the owner of the parts
#pragma once

#include <cstddef>

#include "controller/parts.hpp"
#include "controller/steps.hpp"
#include "controller/web/arguments.hpp"
#include "controller/web/metric_families.hpp"
#include "controller/web/savings.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostKept = 5;

Document savings_text(const Parts& from, const Arguments& arguments);
// An unknown saving has no sample.
void add_savings(Families& families, const SavingsNow& savings);

}  // namespace wattle::controller
