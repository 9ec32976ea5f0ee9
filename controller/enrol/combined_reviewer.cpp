#include "controller/enrol/combined_reviewer.hpp"

#include <algorithm>

#include "controller/config.hpp"
#include "controller/enrol/token_file.hpp"

namespace wattle::controller {

Result<std::unique_ptr<Reviewer>> CombinedReviewer::of_config(const EnrolConfig& config,
                                                              const std::optional<kube::ApiServer>& api,
                                                              const Clock& clock) {
  if (config.kubernetes && !api)
    return fail(Errc::not_found, "enrol.kubernetes", "no API server is configured to review tokens",
                "run the controller as a pod with a service account, or set kubernetes.server");
  std::unique_ptr<Reviewer> file, cluster;
  std::unique_ptr<ReaderReview> readers;
  if (!config.tokens.empty()) file = std::make_unique<TokenFile>(config.tokens, clock);
  if (config.kubernetes) cluster = std::make_unique<TokenReview>(*api, config.review);
  if (!config.reader.empty()) readers = std::make_unique<ReaderReview>(*api, config.reader, clock);
  return std::unique_ptr<Reviewer>(
      std::make_unique<CombinedReviewer>(std::move(file), std::move(cluster), std::move(readers)));
}

Reviewer& CombinedReviewer::of(std::string_view token) const {
  if (readers_ && readers_->names_account(token)) return *readers_;
  const bool document = std::count(token.begin(), token.end(), '.') == 2;
  if (!file_) return *cluster_;
  return cluster_ && document ? *cluster_ : *file_;
}

Reviewed<Admission> CombinedReviewer::review(std::string_view token, const std::string& key) {
  return of(token).review(token, key);
}

Status CombinedReviewer::admitted(std::string_view token, const std::string& key) {
  return of(token).admitted(token, key);
}

}  // namespace wattle::controller
