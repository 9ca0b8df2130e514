// Requests that change objects, each as the API server wants it.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct WriteOptions {
  std::string field_manager = "kgpu";  // at most 128 characters
  bool is_dry_run = false;             // the server checks, and writes nothing
  // Unknown and duplicate fields are errors; else the server only warns of them.
  bool is_strict = false;
};

// POST of a new object to its collection.
ApiRequest CreateRequest(std::string collection, const boost::json::value& object,
                         const WriteOptions& options = {});
// PUT of a whole object. Only of one that was read and changed, with its resourceVersion: what a
// newer server keeps in fields unknown to us would be lost otherwise. Errors: InvalidArgument (no
// resourceVersion).
StatusOr<ApiRequest> ReplaceRequest(std::string path, const boost::json::value& object,
                                    const WriteOptions& options = {});

// Server-side apply: `object` has apiVersion, kind, metadata.name and every field that the field
// manager owns, each time; what it owned before and is missing now is removed. With `force` other
// owners lose the fields; without it they answer Aborted, reason FieldManagerConflict. Creates what
// is not there unless the object has metadata.uid. A subresource ("status") is applied at its own
// path, with its own fields alone. Errors: InvalidArgument (managedFields is set; no apiVersion,
// kind or name).
StatusOr<ApiRequest> ApplyRequest(std::string path, const boost::json::value& object, bool force,
                                  const WriteOptions& options = {});

enum class PatchType : uint8_t {
  kJson,       // ordered operations; one that does not fit is InvalidArgument (422): read again
  kMerge,      // maps merged, null removes, lists replaced
  kStrategic,  // lists merged by their keys; built-in kinds only, others are Unimplemented (415)
};

ApiRequest PatchRequest(std::string path, PatchType type, const boost::json::value& patch,
                        const WriteOptions& options = {});
// "/metadata/labels/a.b~1c" of its keys: "/" and "~" in a key are escaped.
std::string JsonPointer(std::initializer_list<std::string_view> keys);

struct DeleteOptions {
  std::string uid{};  // of the one that was seen: another of that name is left alone
  std::string resource_version{};
  std::string propagation{};  // Foreground, Background or Orphan; empty: the server's choice
  std::optional<std::chrono::seconds> grace{};
  bool is_dry_run = false;
};

// The answer means that it was accepted: finalizers may keep the object for a while. NotFound: it
// is gone.
ApiRequest DeleteRequest(std::string path, const DeleteOptions& options = {});

// "kgpu/0.1.0 (linux/amd64)". `machine` is uname's: "x86_64", "aarch64".
std::string UserAgent(std::string_view program, std::string_view version, std::string_view machine);

}  // namespace kgpu::kube
