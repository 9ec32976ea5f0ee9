#include "controller/provision/student.hpp"

#include <utility>

#include "common/base64.hpp"
#include "common/wire/codec.hpp"
#include "models/frozen/frozen_network.hpp"
#include "models/frozen/safetensors.hpp"
#include "provision/minute/student_file.hpp"

namespace wattle::controller {

Result<std::shared_ptr<const Student>> student_of(std::uint64_t version, models::Weights weights,
                                                  const models::provision::Agreement& agreement) {
  auto student = std::make_shared<Student>();
  WATTLE_TRY(student->network, models::FrozenNetwork::from_weights(weights, 0, "student"));
  const std::string text = base64_encode(models::to_safetensors(models::provision::student_model(weights)));
  const std::size_t part = wire::Limits{}.text_bytes;
  for (std::size_t from = 0; from < text.size(); from += part) student->parts.push_back(text.substr(from, part));
  student->version = version;
  student->weights = std::move(weights);
  student->agreement = agreement;
  return std::shared_ptr<const Student>(std::move(student));
}

}  // namespace wattle::controller
