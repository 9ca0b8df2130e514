#include "src/kube/api/writes.h"

#include <boost/json.hpp>

#include <array>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

ApiRequest WriteRequest(std::string method, std::string path, std::string_view content_type,
                        const json::value& body, const WriteOptions& options) {
  ApiRequest request{.method = std::move(method),
                     .path = std::move(path),
                     .content_type = std::string(content_type),
                     .body = BodyOf(body)};
  request.query.emplace_back("fieldManager", options.field_manager.substr(0, 128));
  if (options.is_dry_run) {
    request.query.emplace_back("dryRun", "All");
  }
  if (options.is_strict) {
    request.query.emplace_back("fieldValidation", "Strict");
  }
  return request;
}

std::string_view ContentTypeOf(PatchType type) {
  static constexpr std::array<std::string_view, 3> kWords = {
      "application/json-patch+json", "application/merge-patch+json",
      "application/strategic-merge-patch+json"};
  return kWords.at(static_cast<size_t>(type));
}

}  // namespace

ApiRequest CreateRequest(std::string collection, const json::value& object,
                         const WriteOptions& options) {
  return WriteRequest("POST", std::move(collection), "application/json", object, options);
}

StatusOr<ApiRequest> ReplaceRequest(std::string path, const json::value& object,
                                    const WriteOptions& options) {
  if (VersionOf(object).empty()) {
    return InvalidArgument(
        "PUT {}: metadata.resourceVersion is missing: replace only an object that was read", path);
  }
  return WriteRequest("PUT", std::move(path), "application/json", object, options);
}

StatusOr<ApiRequest> ApplyRequest(std::string path, const json::value& object, bool force,
                                  const WriteOptions& options) {
  if (FindField(object, {"metadata", "managedFields"}) != nullptr) {
    return InvalidArgument("apply to {}: metadata.managedFields must be unset", path);
  }
  if (TextField(object, {"apiVersion"}).empty() || TextField(object, {"kind"}).empty() ||
      NameOf(object).empty()) {
    return InvalidArgument("apply to {}: apiVersion, kind and metadata.name must be set", path);
  }
  ApiRequest request =
      WriteRequest("PATCH", std::move(path), "application/apply-patch+yaml", object, options);
  request.query.emplace_back("force", force ? "true" : "false");
  return request;
}

ApiRequest PatchRequest(std::string path, PatchType type, const json::value& patch,
                        const WriteOptions& options) {
  return WriteRequest("PATCH", std::move(path), ContentTypeOf(type), patch, options);
}

std::string JsonPointer(std::initializer_list<std::string_view> keys) {
  std::string pointer;
  for (const std::string_view key : keys) {
    pointer += '/';
    for (const char c : key) {
      if (c == '~') {
        pointer += "~0";
      } else if (c == '/') {
        pointer += "~1";
      } else {
        pointer += c;
      }
    }
  }
  return pointer;
}

ApiRequest DeleteRequest(std::string path, const DeleteOptions& options) {
  json::object body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  json::object preconditions;
  if (!options.uid.empty()) {
    preconditions["uid"] = options.uid;
  }
  if (!options.resource_version.empty()) {
    preconditions["resourceVersion"] = options.resource_version;
  }
  if (!preconditions.empty()) {
    body["preconditions"] = std::move(preconditions);
  }
  if (!options.propagation.empty()) {
    body["propagationPolicy"] = options.propagation;
  }
  if (options.grace) {
    body["gracePeriodSeconds"] = options.grace->count();
  }
  if (options.is_dry_run) {
    body["dryRun"] = json::array{"All"};
  }
  return {.method = "DELETE",
          .path = std::move(path),
          .content_type = "application/json",
          .body = BodyOf(body)};
}

std::string UserAgent(std::string_view program, std::string_view version,
                      std::string_view machine) {
  std::string_view arch = machine;
  if (machine == "x86_64") {
    arch = "amd64";
  } else if (machine == "aarch64") {
    arch = "arm64";
  }
  return fmt::format("{}/{} (linux/{})", program, version, arch);
}

}  // namespace kgpu::kube
