// student: a trained student network with the bytes that nodes get.
// Errors   student_of: those of models/frozen/frozen_network
// Threads  immutable
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "models/frozen/q_network.hpp"
#include "provision/minute/student_trainer.hpp"

namespace wattle::controller {

struct Student {
  std::uint64_t version = 0;  // from 1; rises with each trained student
  models::Weights weights;
  std::shared_ptr<const models::QNetwork> network;
  std::vector<std::string> parts;  // base64 of the file, in texts that fit into a message
  models::provision::Agreement agreement;
};

Result<std::shared_ptr<const Student>> student_of(std::uint64_t version, models::Weights weights,
                                                  const models::provision::Agreement& agreement);

}  // namespace wattle::controller
