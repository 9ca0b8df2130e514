#include "testing/kubelet/pod_json.h"

#include <boost/json.hpp>

#include <utility>

#include "src/platform/base/status_macros.h"
#include "testing/kubelet/json_fields.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

template <typename T>
json::array ListJson(const T& items) {
  json::array array;
  for (const auto& item : items) {
    array.emplace_back(item);
  }
  return array;
}

template <typename T>
json::object MapJson(const std::map<std::string, T>& map) {
  json::object object;
  for (const auto& [key, value] : map) {
    object.emplace(key, value);
  }
  return object;
}

json::value OptionalJson(const std::optional<int>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::value ToJson(const ClaimedDevice& device) {
  return json::object{{"claim", device.claim},
                      {"driver", device.driver},
                      {"pool", device.pool},
                      {"device", device.device},
                      {"cdiIds", ListJson(device.cdi_ids)}};
}

json::value ToJson(const PodClaim& claim) {
  return json::object{
      {"name", claim.name}, {"claim", claim.claim}, {"generated", claim.is_generated}};
}

json::value ToJson(const ClaimReference& reference) {
  return json::object{{"claim", reference.claim}, {"request", reference.request}};
}

json::value ToJson(const PodEvent& event) {
  return json::object{{"reason", event.reason}, {"message", event.message}, {"count", event.count}};
}

template <typename T>
json::array ObjectsJson(const std::vector<T>& items) {
  json::array array;
  for (const T& item : items) {
    array.push_back(ToJson(item));
  }
  return array;
}

json::value ToJson(const ContainerSpec& spec) {
  return json::object{{"name", spec.name},
                      {"kind", NameOf(spec.kind)},
                      {"limits", MapJson(spec.limits)},
                      {"command", ListJson(spec.command)},
                      {"env", ListJson(spec.env)},
                      {"exclusiveCpus", ListJson(spec.exclusive_cpus)},
                      {"claims", ObjectsJson(spec.claims)},
                      {"claimReferences", ObjectsJson(spec.claim_references)},
                      {"exitsWith", OptionalJson(spec.exits_with)}};
}

json::value ToJson(const ContainerOptions& options) {
  json::array mounts;
  for (const BindMount& mount : options.mounts) {
    mounts.push_back(json::object{{"containerPath", mount.container_path},
                                  {"hostPath", mount.host_path},
                                  {"readOnly", mount.read_only}});
  }
  json::array devices;
  for (const DeviceSpec& device : options.devices) {
    devices.push_back(json::object{{"containerPath", device.container_path},
                                   {"hostPath", device.host_path},
                                   {"permissions", device.permissions}});
  }
  return json::object{{"envs", MapJson(options.envs)},
                      {"mounts", std::move(mounts)},
                      {"devices", std::move(devices)},
                      {"annotations", MapJson(options.annotations)},
                      {"cdiDevices", ListJson(options.cdi_devices)}};
}

json::value ToJson(const ContainerStatus& status) {
  json::object devices;
  for (const auto& [resource, ids] : status.devices) {
    devices.emplace(resource, ListJson(ids));
  }
  json::array health;
  for (const ResourceHealth& entry : status.health) {
    health.push_back(json::object{{"resource", entry.resource},
                                  {"id", entry.id},
                                  {"health", entry.health},
                                  {"message", entry.message}});
  }
  return json::object{{"name", status.name},
                      {"kind", NameOf(status.kind)},
                      {"state", NameOf(status.state)},
                      {"reason", status.reason},
                      {"message", status.message},
                      {"exitCode", OptionalJson(status.exit_code)},
                      {"restarts", status.restarts},
                      {"id", status.id},
                      {"devices", std::move(devices)},
                      {"allocatedResourcesStatus", std::move(health)},
                      {"options", ToJson(status.options)}};
}

// A word of a closed set; `all` in the order of the enumeration.
template <typename Enum>
Status ReadEnum(const JsonFields& fields, std::string_view name, Enum last, Enum& out) {
  std::string word;
  RETURN_IF_ERROR(fields.Read(name, word));
  for (int i = 0; !word.empty() && i <= static_cast<int>(last); ++i) {
    if (word == NameOf(static_cast<Enum>(i))) {
      out = static_cast<Enum>(i);
      return OkStatus();
    }
  }
  return word.empty() ? OkStatus()
                      : InvalidArgument("{}: unknown \"{}\"", fields.PathOf(name), word);
}

Status ReadClaims(const JsonFields& fields, std::vector<ClaimedDevice>& claims) {
  return fields.ForEachItem([&claims](const JsonFields& item) -> Status {
    ClaimedDevice& device = claims.emplace_back();
    RETURN_IF_ERROR(item.Read("claim", device.claim));
    RETURN_IF_ERROR(item.Read("driver", device.driver));
    RETURN_IF_ERROR(item.Read("pool", device.pool));
    RETURN_IF_ERROR(item.Read("device", device.device));
    return item.Read("cdiIds", device.cdi_ids);
  });
}

// Reads a list of objects; an absent one leaves `out` as it is.
template <typename T, typename Read>
Status ReadObjects(const JsonFields& fields, std::string_view name, std::vector<T>& out,
                   const Read& read) {
  const json::value* list = fields.Find(name);
  if (list == nullptr) {
    return OkStatus();
  }
  return JsonFields(*list, fields.PathOf(name)).ForEachItem([&](const JsonFields& item) {
    return read(item, out.emplace_back());
  });
}

Status ReadPodClaim(const JsonFields& fields, PodClaim& claim) {
  RETURN_IF_ERROR(fields.Read("name", claim.name));
  RETURN_IF_ERROR(fields.Read("claim", claim.claim));
  return fields.Read("generated", claim.is_generated);
}

Status ReadReference(const JsonFields& fields, ClaimReference& reference) {
  RETURN_IF_ERROR(fields.Read("claim", reference.claim));
  return fields.Read("request", reference.request);
}

Status ReadEvent(const JsonFields& fields, PodEvent& event) {
  RETURN_IF_ERROR(fields.Read("reason", event.reason));
  RETURN_IF_ERROR(fields.Read("message", event.message));
  return fields.Read("count", event.count);
}

StatusOr<ContainerSpec> ContainerSpecFrom(const JsonFields& fields) {
  ContainerSpec spec;
  RETURN_IF_ERROR(fields.Read("name", spec.name));
  RETURN_IF_ERROR(ReadEnum(fields, "kind", ContainerKind::kApp, spec.kind));
  RETURN_IF_ERROR(fields.Read("limits", spec.limits));
  RETURN_IF_ERROR(fields.Read("command", spec.command));
  RETURN_IF_ERROR(fields.Read("env", spec.env));
  RETURN_IF_ERROR(fields.Read("exclusiveCpus", spec.exclusive_cpus));
  if (const auto claims = fields.Field("claims"); claims.ok()) {
    RETURN_IF_ERROR(ReadClaims(*claims, spec.claims));
  }
  RETURN_IF_ERROR(ReadObjects(fields, "claimReferences", spec.claim_references, ReadReference));
  RETURN_IF_ERROR(fields.Read("exitsWith", spec.exits_with));
  return spec;
}

StatusOr<PodSpec> PodSpecFrom(const JsonFields& fields) {
  PodSpec spec;
  RETURN_IF_ERROR(fields.Read("name", spec.name));
  RETURN_IF_ERROR(fields.Read("namespace", spec.name_space));
  RETURN_IF_ERROR(fields.Read("uid", spec.uid));
  RETURN_IF_ERROR(ReadEnum(fields, "restartPolicy", RestartPolicy::kNever, spec.restart_policy));
  RETURN_IF_ERROR(fields.Read("imageMissing", spec.is_image_missing));
  RETURN_IF_ERROR(fields.Read("waitsForResources", spec.waits_for_resources));
  RETURN_IF_ERROR(ReadObjects(fields, "resourceClaims", spec.claims, ReadPodClaim));
  ASSIGN_OR_RETURN(const JsonFields containers, fields.Field("containers"));
  RETURN_IF_ERROR(containers.ForEachItem([&spec](const JsonFields& item) -> Status {
    ASSIGN_OR_RETURN(ContainerSpec container, ContainerSpecFrom(item));
    spec.containers.push_back(std::move(container));
    return OkStatus();
  }));
  return spec;
}

Status ReadMount(const JsonFields& fields, BindMount& mount) {
  RETURN_IF_ERROR(fields.Read("containerPath", mount.container_path));
  RETURN_IF_ERROR(fields.Read("hostPath", mount.host_path));
  return fields.Read("readOnly", mount.read_only);
}

Status ReadDevice(const JsonFields& fields, DeviceSpec& device) {
  RETURN_IF_ERROR(fields.Read("containerPath", device.container_path));
  RETURN_IF_ERROR(fields.Read("hostPath", device.host_path));
  return fields.Read("permissions", device.permissions);
}

Status ReadOptions(const JsonFields& fields, ContainerOptions& options) {
  RETURN_IF_ERROR(fields.Read("envs", options.envs));
  RETURN_IF_ERROR(fields.Read("annotations", options.annotations));
  RETURN_IF_ERROR(fields.Read("cdiDevices", options.cdi_devices));
  ASSIGN_OR_RETURN(const JsonFields mounts, fields.Field("mounts"));
  RETURN_IF_ERROR(mounts.ForEachItem([&options](const JsonFields& item) {
    return ReadMount(item, options.mounts.emplace_back());
  }));
  ASSIGN_OR_RETURN(const JsonFields devices, fields.Field("devices"));
  return devices.ForEachItem([&options](const JsonFields& item) {
    return ReadDevice(item, options.devices.emplace_back());
  });
}

Status ReadHealth(const JsonFields& fields, ResourceHealth& health) {
  RETURN_IF_ERROR(fields.Read("resource", health.resource));
  RETURN_IF_ERROR(fields.Read("id", health.id));
  RETURN_IF_ERROR(fields.Read("message", health.message));
  return fields.Read("health", health.health);
}

Status ReadContainer(const JsonFields& fields, ContainerStatus& status) {
  RETURN_IF_ERROR(fields.Read("name", status.name));
  RETURN_IF_ERROR(ReadEnum(fields, "kind", ContainerKind::kApp, status.kind));
  RETURN_IF_ERROR(ReadEnum(fields, "state", ContainerState::kTerminated, status.state));
  RETURN_IF_ERROR(fields.Read("reason", status.reason));
  RETURN_IF_ERROR(fields.Read("message", status.message));
  RETURN_IF_ERROR(fields.Read("exitCode", status.exit_code));
  RETURN_IF_ERROR(fields.Read("restarts", status.restarts));
  RETURN_IF_ERROR(fields.Read("id", status.id));
  ASSIGN_OR_RETURN(const JsonFields devices, fields.Field("devices"));
  RETURN_IF_ERROR(
      devices.ForEachField([&status](const std::string& resource, const JsonFields& field) {
        std::vector<std::string> ids;
        const Status read = field.Get(ids);
        status.devices[resource] = {ids.begin(), ids.end()};
        return read;
      }));
  ASSIGN_OR_RETURN(const JsonFields health, fields.Field("allocatedResourcesStatus"));
  RETURN_IF_ERROR(health.ForEachItem([&status](const JsonFields& item) {
    return ReadHealth(item, status.health.emplace_back());
  }));
  ASSIGN_OR_RETURN(const JsonFields options, fields.Field("options"));
  return ReadOptions(options, status.options);
}

}  // namespace

json::value ToJson(const PodSpec& spec) {
  json::array containers;
  for (const ContainerSpec& container : spec.containers) {
    containers.push_back(ToJson(container));
  }
  return json::object{{"name", spec.name},
                      {"namespace", spec.name_space},
                      {"uid", spec.uid},
                      {"restartPolicy", NameOf(spec.restart_policy)},
                      {"imageMissing", spec.is_image_missing},
                      {"waitsForResources", spec.waits_for_resources},
                      {"resourceClaims", ObjectsJson(spec.claims)},
                      {"containers", std::move(containers)}};
}

json::value ToJson(const Pod& pod) {
  json::array containers;
  for (const ContainerStatus& container : pod.status.containers) {
    containers.push_back(ToJson(container));
  }
  return json::object{{"spec", ToJson(pod.spec)},
                      {"terminating", pod.is_terminating},
                      {"status", json::object{{"phase", NameOf(pod.status.phase)},
                                              {"reason", pod.status.reason},
                                              {"message", pod.status.message},
                                              {"bound", pod.status.is_bound},
                                              {"admitted", pod.status.is_admitted},
                                              {"events", ObjectsJson(pod.status.events)},
                                              {"containers", std::move(containers)}}}};
}

StatusOr<PodSpec> PodSpecFromJson(const json::value& value, const std::string& where) {
  return PodSpecFrom(JsonFields(value, where));
}

StatusOr<Pod> PodFromJson(const json::value& value, const std::string& where) {
  const JsonFields fields(value, where);
  Pod pod;
  ASSIGN_OR_RETURN(const JsonFields spec, fields.Field("spec"));
  ASSIGN_OR_RETURN(pod.spec, PodSpecFrom(spec));
  RETURN_IF_ERROR(fields.Read("terminating", pod.is_terminating));
  ASSIGN_OR_RETURN(const JsonFields status, fields.Field("status"));
  RETURN_IF_ERROR(ReadEnum(status, "phase", PodPhase::kFailed, pod.status.phase));
  RETURN_IF_ERROR(status.Read("reason", pod.status.reason));
  RETURN_IF_ERROR(status.Read("message", pod.status.message));
  RETURN_IF_ERROR(status.Read("bound", pod.status.is_bound));
  RETURN_IF_ERROR(status.Read("admitted", pod.status.is_admitted));
  RETURN_IF_ERROR(ReadObjects(status, "events", pod.status.events, ReadEvent));
  ASSIGN_OR_RETURN(const JsonFields containers, status.Field("containers"));
  RETURN_IF_ERROR(containers.ForEachItem([&pod](const JsonFields& item) {
    return ReadContainer(item, pod.status.containers.emplace_back());
  }));
  if (pod.status.containers.size() != pod.spec.containers.size()) {
    return InvalidArgument("{}: {} containers in the status, {} in the spec", where,
                           pod.status.containers.size(), pod.spec.containers.size());
  }
  return pod;
}

}  // namespace kgpu::kubelet
