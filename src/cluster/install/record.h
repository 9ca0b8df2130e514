// What was installed on a cluster: a ConfigMap beside it, so that an upgrade keeps the values and
// an uninstall finds every object, even after an interruption.
#pragma once

#include <boost/json/object.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

inline constexpr std::string_view kManager = "kgpu-cluster";  // field manager and label
// The label of what the controller makes.
inline constexpr std::string_view kControllerManager = "kgpu-controller";
// The label of functions, and of what their gateway keeps beside them.
inline constexpr std::string_view kGatewayManager = "kgpu-gateway";
inline constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kPartOf = "app.kubernetes.io/part-of";
inline constexpr std::string_view kRecordName = "kgpu-install";

struct InstalledObject {
  kube::ObjectRef ref{};
  // It was there before the installation: an uninstall takes only our fields from it.
  bool existed = false;
  bool operator==(const InstalledObject&) const = default;
};

struct Record {
  std::string version{};  // of kgpu that wrote it
  // An installation that was not completed: `objects` holds those of both states.
  bool is_complete = false;
  boost::json::object request{};  // how it was rendered; the caller's
  std::vector<InstalledObject> objects{};
  // Of an uninstall that has begun: the agents' DaemonSet and the nodes that it ran on. Empty: none
  // has.
  boost::json::object clearing{};

  const InstalledObject* Find(const kube::ObjectRef& ref) const;
};

// As a ConfigMap to apply, and back. Errors: InvalidArgument naming the field.
boost::json::object ConfigMapOf(const Record& record, std::string_view space);
StatusOr<Record> RecordOf(const boost::json::value& config_map);

// The path of the record in a namespace.
std::string RecordPath(std::string_view space);
// Nothing if there is none. Errors: those of Send and of RecordOf.
StatusOr<std::optional<Record>> ReadRecord(kube::BlockingClient& client, std::string_view space);
// Errors: those of Send.
Status WriteRecord(kube::BlockingClient& client, std::string_view space, const Record& record);

// Whether the object carries the label of what `kgpu cluster install` or the controller makes.
bool IsOurs(const boost::json::value& object);
// Who manages it otherwise: the label's value, "helm release NAME", or "nobody".
std::string OtherManagerOf(const boost::json::value& object);

}  // namespace kgpu::install
