// Requests that change objects, each in the form that the API server requires.
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
  bool is_dry_run = false;             // the server validates, but writes nothing
  // Unknown and duplicate fields are errors; otherwise the server only warns about them.
  bool is_strict = false;
};

// POST of a new object to its collection.
ApiRequest CreateRequest(std::string collection, const boost::json::value& object,
                         const WriteOptions& options = {});
// PUT of a whole object. Only for an object that was read and modified, with its resourceVersion:
// otherwise fields that are unknown to us, from a newer server, would be lost. Errors:
// InvalidArgument (no resourceVersion).
StatusOr<ApiRequest> ReplaceRequest(std::string path, const boost::json::value& object,
                                    const WriteOptions& options = {});

// Server-side apply: `object` has apiVersion, kind, metadata.name and always every field that the
// field manager owns; owned fields that are missing now are removed. With `force`, other owners
// lose conflicting fields; without it, a conflict is Aborted, reason FieldManagerConflict. Creates
// a missing object unless `object` has metadata.uid. A subresource ("status") is applied at its own
// path, with its own fields only. Errors: InvalidArgument (managedFields is set; no apiVersion,
// kind or name).
StatusOr<ApiRequest> ApplyRequest(std::string path, const boost::json::value& object, bool force,
                                  const WriteOptions& options = {});

enum class PatchType : uint8_t {
  kJson,       // ordered operations; InvalidArgument (422) if one does not fit: read again
  kMerge,      // maps merged, null removes, lists replaced
  kStrategic,  // lists merged by key; built-in kinds only, else Unimplemented (415)
};

ApiRequest PatchRequest(std::string path, PatchType type, const boost::json::value& patch,
                        const WriteOptions& options = {});
// "/metadata/labels/a.b~1c" from its keys: escapes "/" and "~" in a key.
std::string JsonPointer(std::initializer_list<std::string_view> keys);

struct DeleteOptions {
  std::string uid{};  // of the object seen: another one of that name stays
  std::string resource_version{};
  std::string propagation{};  // Foreground, Background or Orphan; empty: the server decides
  std::optional<std::chrono::seconds> grace{};
  bool is_dry_run = false;
};

// Success means that the request was accepted: finalizers may keep the object for a while.
// NotFound: it is gone.
ApiRequest DeleteRequest(std::string path, const DeleteOptions& options = {});

// "kgpu/0.1.0 (linux/amd64)". `machine` is uname's: "x86_64", "aarch64".
std::string UserAgent(std::string_view program, std::string_view version, std::string_view machine);

}  // namespace kgpu::kube
