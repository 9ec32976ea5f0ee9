#include "cli/pre/expiry.hpp"

#include <filesystem>

#include "cli/view.hpp"
#include "common/base64.hpp"
#include "common/dir.hpp"
#include "common/http/certificate.hpp"

namespace wattle::cli {

namespace {
std::optional<std::string> text_of(const View& tls, const std::string& key) {
  if (const auto inline_text = tls[key + "Data"].text()) return base64_decode(*inline_text);
  const std::filesystem::path path = tls[key + "File"].text_or("");
  if (path.empty()) return std::nullopt;
  const auto folder = Dir::open_(path.parent_path().string());
  if (!folder) return std::nullopt;
  const auto text = folder->read_file(path.filename().string());
  return text ? std::optional(*text) : std::nullopt;
}
}  // namespace

void judge_expiry(Findings& out, const std::string& name, const std::string& pem, WallTime now,
                  const std::string& fix) {
  const auto until = http::certificates_end(pem, name);
  if (!until) return out.failed(name, until.error().what, fix);
  const auto days = std::chrono::duration_cast<std::chrono::hours>(*until - now).count() / 24;
  if (*until <= now) return out.failed(name, "expired " + std::to_string(-days) + " days ago", fix);
  if (*until - now < http::kEndsSoon) return out.warn(name, "expires in " + std::to_string(days) + " days", fix);
  out.ok(name, "valid for " + std::to_string(days) + " days");
}

std::vector<Finding> judge_extender_certificates(const std::vector<Json>& documents, const std::string& where,
                                                 WallTime now) {
  Findings out(where);
  for (const Json& document : documents)
    for (const View& extender : View(document)["extenders"].items())
      for (const char* key : {"ca", "cert"})
        if (const auto pem = text_of(extender["tlsConfig"], key))
          judge_expiry(out, std::string("extender.tlsConfig.") + key, *pem, now,
                       "renew the certificate and restart kube-scheduler");
  return std::move(out).all();
}

}  // namespace wattle::cli
