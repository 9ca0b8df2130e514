// An API server's refusal, as a Status that carries the whole response (a "Status" object with
// reason, details and causes), so that errors propagate as everywhere else.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::apiserver {

struct Resource;

struct Cause {
  std::string reason{};  // "FieldValueInvalid", "FieldManagerConflict"
  std::string message{};
  std::string field{};
};

// `details` is the Status object's own.
Status Failure(int code, std::string_view reason, std::string_view message,
               const boost::json::object& details);
Status Failure(int code, std::string_view reason, std::string_view message);

Status BadRequest(std::string_view message);
Status NoSuchObject(const Resource& resource, std::string_view name);
Status ObjectExists(const Resource& resource, std::string_view name);
Status ObjectConflict(const Resource& resource, std::string_view name, std::string_view why,
                      const std::vector<Cause>& causes = {});
// 422; each cause is also in the message.
Status InvalidObject(std::string_view group, std::string_view kind, std::string_view name,
                     const std::vector<Cause>& causes);
Status InvalidObject(const Resource& resource, std::string_view name,
                     const std::vector<Cause>& causes);
// 410, with a token for the rest of the list if there is one.
Status ExpiredVersion(std::string_view message, std::string_view continue_token = "");
// 504: this server has not seen that version yet.
Status VersionTooLarge(uint64_t asked, uint64_t current);

// The response's HTTP code, and its body. A status that is no Failure is a 500.
int HttpCodeOf(const Status& status);
boost::json::object StatusObjectOf(const Status& status);

// Makers of causes. `value` is shown in quotes.
Cause InvalidValue(std::string_view field, std::string_view value, std::string_view why);
Cause RequiredValue(std::string_view field, std::string_view why);
Cause ForbiddenChange(std::string_view field, std::string_view why);
Cause UnsupportedValue(std::string_view field, std::string_view value,
                       const std::vector<std::string>& supported);
Cause DuplicateValue(std::string_view field, std::string_view value);
Cause TooMany(std::string_view field, size_t count, size_t most);
Cause TooLong(std::string_view field, size_t most);  // in bytes

}  // namespace kgpu::apiserver
