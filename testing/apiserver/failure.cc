#include "testing/apiserver/failure.h"

#include <absl/strings/cord.h>

#include <boost/json.hpp>

#include "src/platform/base/strings.h"
#include "src/platform/net/http/status_code.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {
namespace {

// By way of a view: the library's constructor for strings has another name under clang.
absl::Cord PayloadOf(const boost::json::object& body) {
  const std::string text = boost::json::serialize(body);
  return absl::Cord(absl::string_view(text.data(), text.size()));
}

namespace json = boost::json;

constexpr const char* kPayload = "kgpu.dev/kubernetes-status";

json::object DetailsOf(std::string_view group, std::string_view kind, std::string_view name,
                       const std::vector<Cause>& causes = {}) {
  json::object details;
  if (!name.empty()) {
    details["name"] = name;
  }
  if (!group.empty()) {
    details["group"] = group;
  }
  if (!kind.empty()) {
    details["kind"] = kind;
  }
  json::array list;
  for (const Cause& cause : causes) {
    list.push_back({{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  }
  if (!list.empty()) {
    details["causes"] = std::move(list);
  }
  return details;
}

std::string Together(const std::vector<Cause>& causes) {
  std::vector<std::string> lines;
  for (const Cause& cause : causes) {
    lines.push_back(fmt::format("{}: {}", cause.field, cause.message));
  }
  return lines.size() == 1 ? lines[0] : fmt::format("[{}]", Join(lines, ", "));
}

}  // namespace

Status Failure(int code, std::string_view reason, std::string_view message,
               const json::object& details) {
  json::object body = {{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", json::object()},
                       {"status", "Failure"}, {"message", message}, {"reason", reason},
                       {"details", details},  {"code", code}};
  if (details.empty()) {
    body.erase("details");
  }
  Status status = http::StatusOf(code, message);
  status.SetPayload(kPayload, PayloadOf(body));
  return status;
}

Status Failure(int code, std::string_view reason, std::string_view message) {
  return Failure(code, reason, message, json::object());
}

Status BadRequest(std::string_view message) {
  return Failure(400, "BadRequest", message);
}

Status NoSuchObject(const Resource& resource, std::string_view name) {
  return Failure(404, "NotFound", fmt::format("{} \"{}\" not found", resource.Qualified(), name),
                 DetailsOf(resource.group, resource.plural, name));
}

Status ObjectExists(const Resource& resource, std::string_view name) {
  return Failure(409, "AlreadyExists",
                 fmt::format("{} \"{}\" already exists", resource.Qualified(), name),
                 DetailsOf(resource.group, resource.plural, name));
}

Status ObjectConflict(const Resource& resource, std::string_view name, std::string_view why,
                      const std::vector<Cause>& causes) {
  return Failure(409, "Conflict", why, DetailsOf(resource.group, resource.plural, name, causes));
}

Status InvalidObject(std::string_view group, std::string_view kind, std::string_view name,
                     const std::vector<Cause>& causes) {
  const std::string what = group.empty() ? std::string(kind) : fmt::format("{}.{}", kind, group);
  return Failure(422, "Invalid",
                 fmt::format("{} \"{}\" is invalid: {}", what, name, Together(causes)),
                 DetailsOf(group, kind, name, causes));
}

Status InvalidObject(const Resource& resource, std::string_view name,
                     const std::vector<Cause>& causes) {
  return InvalidObject(resource.group, resource.kind, name, causes);
}

Status ExpiredVersion(std::string_view message, std::string_view continue_token) {
  const Status status = Failure(410, "Expired", message);
  if (continue_token.empty()) {
    return status;
  }
  json::object body = StatusObjectOf(status);
  MakeObject(body, "metadata")["continue"] = continue_token;
  Status with_token = http::StatusOf(410, message);
  with_token.SetPayload(kPayload, PayloadOf(body));
  return with_token;
}

Status VersionTooLarge(uint64_t asked, uint64_t current) {
  json::object details = DetailsOf("", "", "",
                                   {{.reason = "ResourceVersionTooLarge",
                                     .message = "Too large resource version",
                                     .field = ""}});
  details["retryAfterSeconds"] = 1;
  return Failure(504, "Timeout",
                 fmt::format("Too large resource version: {}, current: {}", asked, current),
                 details);
}

int HttpCodeOf(const Status& status) {
  const auto body = status.GetPayload(kPayload);
  if (!body) {
    return status.ok() ? 200 : 500;
  }
  const json::value parsed = json::parse(std::string(*body));
  return static_cast<int>(NumberAt(parsed.get_object(), {"code"}, 500));
}

json::object StatusObjectOf(const Status& status) {
  const auto body = status.GetPayload(kPayload);
  if (!body) {
    return StatusObjectOf(Failure(500, "InternalError", Message(status)));
  }
  return json::parse(std::string(*body)).get_object();
}

Cause InvalidValue(std::string_view field, std::string_view value, std::string_view why) {
  return {.reason = "FieldValueInvalid",
          .message = fmt::format("Invalid value: \"{}\": {}", value, why),
          .field = std::string(field)};
}

Cause RequiredValue(std::string_view field, std::string_view why) {
  return {.reason = "FieldValueRequired",
          .message = why.empty() ? "Required value" : fmt::format("Required value: {}", why),
          .field = std::string(field)};
}

Cause ForbiddenChange(std::string_view field, std::string_view why) {
  return {.reason = "FieldValueForbidden",
          .message = fmt::format("Forbidden: {}", why),
          .field = std::string(field)};
}

Cause UnsupportedValue(std::string_view field, std::string_view value,
                       const std::vector<std::string>& supported) {
  std::vector<std::string> quoted;
  for (const std::string& one : supported) {
    quoted.push_back(fmt::format("\"{}\"", one));
  }
  return {.reason = "FieldValueNotSupported",
          .message = fmt::format("Unsupported value: \"{}\": supported values: {}", value,
                                 Join(quoted, ", ")),
          .field = std::string(field)};
}

Cause DuplicateValue(std::string_view field, std::string_view value) {
  return {.reason = "FieldValueDuplicate",
          .message = fmt::format("Duplicate value: {}", value),
          .field = std::string(field)};
}

Cause TooMany(std::string_view field, size_t count, size_t most) {
  return {.reason = "FieldValueTooMany",
          .message = fmt::format("Too many: {}: must have at most {} items", count, most),
          .field = std::string(field)};
}

Cause TooLong(std::string_view field, size_t most) {
  return {.reason = "FieldValueTooLong",
          .message = fmt::format("Too long: may not be more than {} bytes", most),
          .field = std::string(field)};
}

}  // namespace kgpu::apiserver
