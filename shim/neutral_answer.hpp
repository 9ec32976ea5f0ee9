// neutral_answer: reply to a verb of kube-scheduler's extender protocol that leaves its choice unchanged: no score, and
// all nodes pass.
// Source   extender.hpp, preemption.hpp
// Errors   none: no value for another path, or for a request without readable nodes
// Threads  pure function
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wattle::shim {

std::optional<std::string> neutral_answer(std::string_view path, std::string_view body);

}  // namespace wattle::shim
