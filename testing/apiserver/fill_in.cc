#include <boost/json.hpp>

#include <cctype>
#include <string>

#include "src/platform/base/base64.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/quantity.h"
#include "testing/apiserver/registry.h"
#include "testing/apiserver/validation.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

void Default(json::object& object, std::string_view name, const json::value& value) {
  const json::string_view key(name.data(), name.size());
  if (!object.contains(key)) {
    object[key] = value;
  }
}

// The objects in the list `name`; none if there is no list.
std::vector<json::object*> Objects(json::object& object, std::string_view name) {
  std::vector<json::object*> found;
  json::value* list = object.if_contains(json::string_view(name.data(), name.size()));
  if (list != nullptr && list->is_array()) {
    for (json::value& item : list->get_array()) {
      if (item.is_object()) {
        found.push_back(&item.get_object());
      }
    }
  }
  return found;
}

// The deprecated name of the same field.
void FillPodSpec(json::object& spec) {
  if (const json::value* account = spec.if_contains("serviceAccountName"); account != nullptr) {
    spec["serviceAccount"] = json::value(*account);
  }
  for (const char* list : {"containers", "initContainers"}) {
    for (json::object* container : Objects(spec, list)) {
      const std::string_view image = TextAt(*container, {"image"});
      const std::string_view name = image.substr(image.rfind('/') + 1);
      const bool moves = name.find(':') == std::string_view::npos || name.ends_with(":latest");
      Default(*container, "imagePullPolicy",
              moves && name.find('@') == std::string_view::npos ? "Always" : "IfNotPresent");
    }
  }
}

void FillSecret(json::object& secret) {
  if (const json::object* texts = ObjectAt(secret, {"stringData"}); texts != nullptr) {
    const json::object copy = *texts;
    json::object& data = MakeObject(secret, "data");
    for (const auto& [name, value] : copy) {
      data[name] = EncodeBase64(PlainText(&value));
    }
    secret.erase("stringData");
  }
}

// The server labels a job's pods, and selects them by that label.
void FillJob(json::object& job) {
  const std::string uid(TextAt(job, {"metadata", "uid"}));
  json::object& spec = MakeObject(job, "spec");
  json::object& metadata = MakeObject(MakeObject(spec, "template"), "metadata");
  json::object& labels = MakeObject(metadata, "labels");
  for (const char* prefix : {"", "batch.kubernetes.io/"}) {
    labels[fmt::format("{}controller-uid", prefix)] = uid;
    labels[fmt::format("{}job-name", prefix)] = TextAt(job, {"metadata", "name"});
  }
  spec["selector"] = {{"matchLabels", {{"batch.kubernetes.io/controller-uid", uid}}}};
  if (!spec.contains("parallelism")) {
    Default(spec, "completions", 1);
  }
}

// The parameters of the kind of update that it has.
void FillStrategy(json::object& strategy) {
  const std::string_view type = TextAt(strategy, {"type"});
  if (type.empty() || type == "RollingUpdate") {
    MakeObject(strategy, "rollingUpdate");
  }
}

void FillNetworkPolicy(json::object& spec) {
  json::array types = {"Ingress"};
  if (!ItemsAt(spec, {"egress"}).empty()) {
    types.emplace_back("Egress");
  }
  Default(spec, "policyTypes", types);
}

void FillSubjects(json::object& binding) {
  for (json::object* subject : Objects(binding, "subjects")) {
    if (TextAt(*subject, {"kind"}) != "ServiceAccount") {
      Default(*subject, "apiGroup", "rbac.authorization.k8s.io");
    }
  }
}

void FillDefinition(json::object& spec) {
  json::object& names = MakeObject(spec, "names");
  const std::string kind(TextAt(names, {"kind"}));
  std::string singular;
  for (const char c : kind) {
    singular += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  Default(names, "singular", json::string(singular));
  Default(names, "listKind", json::string(fmt::format("{}List", kind)));
}

void FillAutoscaler(json::object& spec) {
  json::object* behavior = spec.contains("behavior") ? &MakeObject(spec, "behavior") : nullptr;
  if (behavior == nullptr) {
    return;
  }
  const json::object percent = {{"type", "Percent"}, {"value", 100}, {"periodSeconds", 15}};
  json::object& up = MakeObject(*behavior, "scaleUp");
  Default(up, "stabilizationWindowSeconds", 0);
  Default(up, "policies",
          json::array{{{"type", "Pods"}, {"value", 4}, {"periodSeconds", 15}}, percent});
  Default(MakeObject(*behavior, "scaleDown"), "policies", json::array{percent});
}

void FillServicePorts(json::object& spec) {
  for (json::object* port : Objects(spec, "ports")) {
    if (port->contains("port")) {
      Default(*port, "targetPort", json::value(port->at("port")));
    }
  }
}

void FillNode(json::object& node) {
  json::object& spec = MakeObject(node, "spec");
  json::value* taints = spec.if_contains("taints");
  if (taints != nullptr && taints->is_array() && taints->get_array().empty()) {
    spec.erase("taints");
  }
  if (!FlagAt(node, {"spec", "unschedulable"})) {
    spec.erase("unschedulable");
  }
}

void FillDeviceRequest(json::object& request) {
  const std::string_view mode = TextAt(request, {"allocationMode"});
  if (mode.empty() || mode == "ExactCount") {
    Default(request, "count", 1);
  }
}

void FillClaimSpec(json::object& spec) {
  if (ObjectAt(spec, {"devices"}) == nullptr) {
    return;
  }
  for (json::object* request : Objects(MakeObject(spec, "devices"), "requests")) {
    if (ObjectAt(*request, {"exactly"}) != nullptr) {
      FillDeviceRequest(MakeObject(*request, "exactly"));
    }
    for (json::object* alternative : Objects(*request, "firstAvailable")) {
      FillDeviceRequest(*alternative);
    }
  }
}

void FillSlice(json::object& spec, std::string_view now) {
  for (json::object* device : Objects(spec, "devices")) {
    for (json::object* taint : Objects(*device, "taints")) {
      Default(*taint, "timeAdded", json::value(json::string_view(now.data(), now.size())));
    }
  }
}

// Defaults of resource.k8s.io that depend on other fields, or on the time.
void FillDeviceKind(const std::string& kind, json::object& spec, std::string_view now) {
  if (kind == "ResourceSlice") {
    FillSlice(spec, now);
  } else if (kind == "ResourceClaim") {
    FillClaimSpec(spec);
  } else if (kind == "ResourceClaimTemplate" && ObjectAt(spec, {"spec"}) != nullptr) {
    FillClaimSpec(MakeObject(spec, "spec"));
  }
}

// Defaults that depend on other fields, which no schema can express.
void FillKind(const std::string& kind, json::object& object) {
  json::object* spec =
      ObjectAt(object, {"spec"}) != nullptr ? &MakeObject(object, "spec") : nullptr;
  if (kind == "Node") {
    FillNode(object);
  } else if (kind == "Secret") {
    FillSecret(object);
  } else if (kind.ends_with("RoleBinding")) {
    FillSubjects(object);
  } else if (spec == nullptr) {
    return;
  } else if (kind == "Pod") {
    FillPodSpec(*spec);
  } else if (kind == "NetworkPolicy") {
    FillNetworkPolicy(*spec);
  } else if (kind == "CustomResourceDefinition") {
    FillDefinition(*spec);
  } else if (kind == "HorizontalPodAutoscaler") {
    FillAutoscaler(*spec);
  } else if (kind == "Service") {
    FillServicePorts(*spec);
  } else if (ObjectAt(*spec, {"template", "spec"}) != nullptr) {
    FillPodSpec(MakeObject(MakeObject(*spec, "template"), "spec"));
    if (kind != "Job") {
      FillStrategy(MakeObject(*spec, kind == "DaemonSet" ? "updateStrategy" : "strategy"));
    }
  }
}

void FillNewObject(const Resource& resource, json::object& object) {
  if (resource.kind == "Pod" || resource.kind == "NetworkPolicy") {
    MakeObject(object, "spec");
  }
  const bool keeps_status = resource.kind == "Node" || !resource.has_status;
  if (!keeps_status) {
    object.erase("status");
  }
  if (resource.kind == "Job" && !FlagAt(object, {"spec", "manualSelector"})) {
    FillJob(object);
  } else if (resource.kind == "PersistentVolumeClaim") {
    object["status"] = {{"phase", "Pending"}};
  } else if (resource.kind == "Pod") {
    object["status"] = {{"phase", "Pending"}, {"qosClass", "BestEffort"}};
  } else if (resource.kind == "Namespace") {
    object["status"] = {{"phase", "Active"}};
    MakeObject(object, "spec")["finalizers"] = json::array{"kubernetes"};
    json::object& labels = MakeObject(MakeObject(object, "metadata"), "labels");
    labels["kubernetes.io/metadata.name"] = TextAt(object, {"metadata", "name"});
  }
}

void KeepCanonical(json::value& value, const Schema* schema) {
  if (schema == nullptr) {
    return;
  }
  if (schema->format == "quantity") {
    if (const auto canonical = CanonicalQuantity(PlainText(&value)); canonical) {
      value = json::string(*canonical);
    }
    return;
  }
  if (value.is_array()) {
    for (json::value& item : value.get_array()) {
      KeepCanonical(item, schema->element);
    }
  } else if (value.is_object() && schema->kind != SchemaKind::kAny) {
    for (auto& field : value.get_object()) {
      const bool is_map = schema->kind == SchemaKind::kMap;
      const std::string_view name(field.key().data(), field.key().size());
      KeepCanonical(field.value(), is_map ? schema->element : schema->Field(name));
    }
  }
}

// A typed server does not keep null, nor empty maps of metadata.
void DropNulls(json::value& value) {
  if (json::array* list = value.if_array(); list != nullptr) {
    for (json::value& item : *list) {
      DropNulls(item);
    }
    return;
  }
  json::object* object = value.if_object();
  if (object == nullptr) {
    return;
  }
  for (auto field = object->begin(); field != object->end();) {
    if (field->value().is_null()) {
      field = object->stable_erase(field);
    } else {
      DropNulls(field->value());
      ++field;
    }
  }
}

void DropEmptyMetadata(json::object& object) {
  json::object& metadata = MakeObject(object, "metadata");
  for (const char* name : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    const json::value* value = metadata.if_contains(name);
    if (value == nullptr) {
      continue;
    }
    const bool is_empty = (value->is_object() && value->get_object().empty()) ||
                          (value->is_array() && value->get_array().empty()) || value->is_null();
    if (is_empty) {
      metadata.erase(name);
    }
  }
}

}  // namespace

void FillIn(const Resource& resource, json::object& object, bool is_new, std::string_view now) {
  if (is_new) {
    FillNewObject(resource, object);
  }
  DropEmptyMetadata(object);
  if (resource.is_custom) {
    if (resource.schema != nullptr) {
      PruneAndDefault(object, *resource.schema);
    }
    return;
  }
  json::value whole = std::move(object);
  DropNulls(whole);
  KeepCanonical(whole, resource.schema);
  object = std::move(whole.get_object());
  if (resource.group != "resource.k8s.io") {
    FillKind(resource.kind, object);
  } else if (ObjectAt(object, {"spec"}) != nullptr) {
    FillDeviceKind(resource.kind, MakeObject(object, "spec"), now);
  }
  if (resource.schema != nullptr) {
    AddDefaults(object, *resource.schema);
  }
}

}  // namespace kgpu::apiserver
