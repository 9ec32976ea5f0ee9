// token_file: a reviewer that checks tokens against a file of their hashes (common/enrol_tokens.hpp). It reads the file
// for each request.
// Errors   unavailable (the file cannot be read or trusted), token, used, expired
// Threads  any
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "common/clock.hpp"
#include "controller/enrol/reviewer.hpp"

namespace wattle::controller {

class TokenFile final : public Reviewer {
 public:
  TokenFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}
  Reviewed<Admission> review(std::string_view token, const std::string& key) override;
  Status admitted(std::string_view token, const std::string& key) override;

 private:
  const std::string path_;
  const Clock& clock_;
  std::mutex mutex_;
};

}  // namespace wattle::controller
