#include <boost/json.hpp>

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

void FillPodSpec(json::object& spec) {
  Default(spec, "restartPolicy", "Always");
  Default(spec, "terminationGracePeriodSeconds", 30);
  Default(spec, "dnsPolicy", "ClusterFirst");
  Default(spec, "schedulerName", "default-scheduler");
  Default(spec, "securityContext", json::object());
  for (const char* list : {"containers", "initContainers"}) {
    json::value* containers = spec.if_contains(list);
    if (containers == nullptr || !containers->is_array()) {
      continue;
    }
    for (json::value& item : containers->get_array()) {
      if (json::object* container = item.if_object(); container != nullptr) {
        Default(*container, "resources", json::object());
        Default(*container, "terminationMessagePath", "/dev/termination-log");
        Default(*container, "terminationMessagePolicy", "File");
        Default(*container, "imagePullPolicy", "IfNotPresent");
      }
    }
  }
}

void FillSecret(json::object& secret) {
  Default(secret, "type", "Opaque");
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
  labels["batch.kubernetes.io/controller-uid"] = uid;
  labels["batch.kubernetes.io/job-name"] = TextAt(job, {"metadata", "name"});
  spec["selector"] = {{"matchLabels", {{"batch.kubernetes.io/controller-uid", uid}}}};
  Default(spec, "parallelism", 1);
  if (!spec.contains("completions")) {
    spec["completions"] = 1;
  }
  Default(spec, "backoffLimit", 6);
}

void FillNewObject(const Resource& resource, json::object& object) {
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

void FillIn(const Resource& resource, json::object& object, bool is_new) {
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
  if (resource.kind == "Pod") {
    FillPodSpec(MakeObject(object, "spec"));
  } else if (resource.kind == "Secret") {
    FillSecret(object);
  } else if (resource.kind == "Node") {
    MakeObject(object, "spec");
    json::value* taints = MakeObject(object, "spec").if_contains("taints");
    if (taints != nullptr && taints->is_array() && taints->get_array().empty()) {
      MakeObject(object, "spec").erase("taints");
    }
    if (!FlagAt(object, {"spec", "unschedulable"})) {
      MakeObject(object, "spec").erase("unschedulable");
    }
  }
}

}  // namespace kgpu::apiserver
