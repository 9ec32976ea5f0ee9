// model_json: the document `models` (docs/reference/api.md).
// Threads  pure
#pragma once

#include <string>

#include "controller/trainer/model_orders.hpp"

namespace wattle::controller {

std::string models_text(const ModelList& list);

}  // namespace wattle::controller
