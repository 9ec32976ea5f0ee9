// combined_reviewer: the reviewers of a configuration, chosen for each token by its form.
// Rules    service account tokens are JWTs, which contain two dots; those of common/enrol_tokens.hpp contain none. A
//          JWT that names the readers' account goes to `readers`, which no agent's token does
// Errors   those of the reviewers
// Threads  any
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controller/enrol/reader_review.hpp"

namespace wattle::controller {

struct EnrolConfig;

class CombinedReviewer final : public Reviewer {
 public:
  // At least one of `file` and `cluster` is set.
  CombinedReviewer(std::unique_ptr<Reviewer> file, std::unique_ptr<Reviewer> cluster,
                   std::unique_ptr<ReaderReview> readers = nullptr)
      : file_(std::move(file)), cluster_(std::move(cluster)), readers_(std::move(readers)) {}
  // not_found: the configuration needs an API server. `clock` must outlive the result.
  static Result<std::unique_ptr<Reviewer>> of_config(const EnrolConfig& config,
                                                     const std::optional<kube::ApiServer>& api, const Clock& clock);
  Reviewed<Admission> review(std::string_view token, const std::string& key) override;
  Status admitted(std::string_view token, const std::string& key) override;

 private:
  Reviewer& of(std::string_view token) const;
  const std::unique_ptr<Reviewer> file_, cluster_;
  const std::unique_ptr<ReaderReview> readers_;
};

}  // namespace wattle::controller
