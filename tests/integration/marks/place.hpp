// place: the API server for the laws of marks; a program links either the fake or a real one.
#pragma once

#include <memory>
#include <string>

#include "common/kube/http_api.hpp"

namespace wattle::controller::power::test {

class Place {
 public:
  virtual ~Place() = default;
  virtual kube::ApiServer admin() const = 0;     // may do everything
  virtual kube::ApiServer wattle() const = 0;    // has the rights of the chart's role with sleep.mode auto
  virtual kube::ApiServer stranger() const = 0;  // has no rights
};

std::unique_ptr<Place> make_place();

}  // namespace wattle::controller::power::test
