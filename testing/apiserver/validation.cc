#include "testing/apiserver/validation.h"

#include <boost/json.hpp>

#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/names.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr size_t kMaxAnnotations = size_t{256} << 10;

std::string_view Std(json::string_view text) {
  return {text.data(), text.size()};
}

void ValidateLabels(const json::object& metadata, std::vector<Cause>& causes) {
  const json::object* labels = ObjectAt(metadata, {"labels"});
  if (labels == nullptr) {
    return;
  }
  for (const auto& [key, value] : *labels) {
    if (const auto problem = LabelKeyProblem(Std(key)); problem) {
      causes.push_back(InvalidValue("metadata.labels", Std(key), *problem));
    }
    if (const auto problem = LabelValueProblem(PlainText(&value)); problem) {
      causes.push_back(InvalidValue("metadata.labels", PlainText(&value), *problem));
    }
  }
}

void ValidateAnnotations(const json::object& metadata, std::vector<Cause>& causes) {
  const json::object* annotations = ObjectAt(metadata, {"annotations"});
  size_t total = 0;
  if (annotations == nullptr) {
    return;
  }
  for (const auto& [key, value] : *annotations) {
    if (const auto problem = LabelKeyProblem(Std(key)); problem) {
      causes.push_back(InvalidValue("metadata.annotations", Std(key), *problem));
    }
    total += key.size() + PlainText(&value).size();
  }
  if (total > kMaxAnnotations) {
    causes.push_back(TooLong("metadata.annotations", kMaxAnnotations));
  }
}

void ValidateOwners(const json::object& metadata, std::vector<Cause>& causes) {
  int controllers = 0;
  for (const json::value& item : ItemsAt(metadata, {"ownerReferences"})) {
    const json::object owner = item.is_object() ? item.get_object() : json::object();
    for (const char* field : {"apiVersion", "kind", "name", "uid"}) {
      if (TextAt(owner, {field}).empty()) {
        causes.push_back(RequiredValue(fmt::format("metadata.ownerReferences.{}", field), ""));
      }
    }
    controllers += FlagAt(owner, {"controller"}) ? 1 : 0;
  }
  if (controllers > 1) {
    causes.push_back(InvalidValue("metadata.ownerReferences", std::to_string(controllers),
                                  "only one reference can have controller set to true"));
  }
}

void ValidateName(const Resource& resource, const json::object& metadata,
                  std::vector<Cause>& causes) {
  const std::string_view name = TextAt(metadata, {"name"});
  if (name.empty()) {
    causes.push_back(RequiredValue("metadata.name", "name or generateName is required"));
    return;
  }
  const bool is_role = resource.group.starts_with("rbac.");
  const auto problem = is_role                        ? RoleNameProblem(name)
                       : resource.kind == "Namespace" ? DnsLabelProblem(name)
                                                      : SubdomainProblem(name);
  if (problem) {
    causes.push_back(InvalidValue("metadata.name", name, *problem));
  }
}

void ValidateFinalizers(const json::object& metadata, const json::object* before,
                        std::vector<Cause>& causes) {
  const json::array* old =
      before == nullptr ? nullptr : ListAt(*before, {"metadata", "finalizers"});
  const bool goes = before != nullptr && FieldAt(*before, {"metadata", "deletionTimestamp"});
  for (const json::value& item : ItemsAt(metadata, {"finalizers"})) {
    const std::string name = PlainText(&item);
    if (const auto problem = LabelKeyProblem(name); problem) {
      causes.push_back(InvalidValue("metadata.finalizers", name, *problem));
    }
    const bool is_old = old != nullptr && std::find(old->begin(), old->end(), item) != old->end();
    if (goes && !is_old) {
      causes.push_back(ForbiddenChange("metadata.finalizers",
                                       "no new finalizers can be added if the object is being "
                                       "deleted"));
    }
  }
}

void ValidateDra(const Resource& resource, const json::object& object, const json::object* before,
                 std::vector<Cause>& causes) {
  if (resource.kind == "ResourceSlice") {
    ValidateResourceSlice(object, before, causes);
  } else if (resource.kind == "DeviceClass") {
    ValidateDeviceClass(object, causes);
  } else if (resource.kind == "ResourceClaim") {
    ValidateResourceClaim(object, before, causes);
  } else {
    ValidateClaimTemplate(object, before, causes);
  }
}

void ValidateKind(const Resource& resource, const json::object& object, const json::object* before,
                  std::vector<Cause>& causes) {
  if (resource.is_custom) {
    if (resource.schema != nullptr) {
      for (Cause& cause : ValidateBySchema(object, *resource.schema)) {
        causes.push_back(std::move(cause));
      }
    }
  } else if (resource.kind == "Node") {
    ValidateNode(object, causes);
  } else if (resource.kind == "Pod") {
    ValidatePod(object, before, causes);
  } else if (resource.kind == "Job") {
    ValidateJob(object, before, causes);
  } else if (resource.kind == "Lease") {
    ValidateLease(object, causes);
  } else if (resource.kind == "Event" && resource.group == "events.k8s.io") {
    ValidateNewEvent(object, before, causes);
  } else if (resource.kind == "CustomResourceDefinition") {
    ValidateDefinition(object, causes);
  } else if (resource.group == "resource.k8s.io") {
    ValidateDra(resource, object, before, causes);
  }
}

}  // namespace

std::vector<Cause> Validate(const Resource& resource, const json::object& object,
                            const json::object* before) {
  std::vector<Cause> causes;
  const json::object* metadata = ObjectAt(object, {"metadata"});
  const json::object none;
  const json::object& meta = metadata == nullptr ? none : *metadata;
  ValidateName(resource, meta, causes);
  ValidateLabels(meta, causes);
  ValidateAnnotations(meta, causes);
  ValidateOwners(meta, causes);
  ValidateFinalizers(meta, before, causes);
  ValidateKind(resource, object, before, causes);
  return causes;
}

}  // namespace kgpu::apiserver
