// redfish_client: requests to one BMC's Redfish service during one call.
// Sends    credentials only to the configured address: it follows no redirect, and requests paths of this service only
// Errors   denied (credentials, certificate), not_found, conflict, unavailable, timeout, malformed, io; each names the
//          URL, keeps the BMC's messages, and contains no secret, even if the BMC repeats it
// Threads  single owner
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/client.hpp"
#include "common/json/value.hpp"
#include "common/result.hpp"
#include "controller/power/credentials.hpp"
#include "controller/power/power_config.hpp"
#include "controller/power/time_left.hpp"

namespace wattle::controller::power {

class RedfishClient {
 public:
  // Logs in if the configuration wants a session, which ends with this object.
  static Result<std::unique_ptr<RedfishClient>> open_(const RedfishConfig& config, const Node& node,
                                                      const TimeLeft& time);
  RedfishClient(const RedfishClient&) = delete;
  RedfishClient& operator=(const RedfishClient&) = delete;
  ~RedfishClient();

  Result<std::string> get(const std::string& path);
  Status post(const std::string& path, const OrderedJson& body);
  // The URL of a path, for errors.
  std::string url(std::string_view path) const { return address_ + std::string(path); }

 private:
  RedfishClient(http::Origin origin, std::string credentials_file, Credentials credentials, const TimeLeft& time);
  Result<http::Answer> request(const std::string& method, const std::string& path, const std::string& body);
  Status log_in();
  Error refusal(const http::Answer& answer, const std::string& path) const;
  Error without_secrets(Error error) const;

  const std::string address_, credentials_file_;
  const Credentials credentials_;
  const TimeLeft& time_;
  http::Client client_;
  std::string session_;  // path that ends it; empty: none
  std::vector<std::string> secrets_;
};

}  // namespace wattle::controller::power
