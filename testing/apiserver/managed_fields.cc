#include "testing/apiserver/managed_fields.h"

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/typed_value.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

// The object without what nobody owns: its identity and the server's own fields.
json::value OwnableParts(const json::object& object) {
  json::object copy = object;
  copy.erase("apiVersion");
  copy.erase("kind");
  if (json::value* metadata = copy.if_contains("metadata");
      metadata != nullptr && metadata->is_object()) {
    for (const char* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                             "generation", "resourceVersion", "managedFields"}) {
      metadata->get_object().erase(name);
    }
    if (metadata->get_object().empty()) {
      copy.erase("metadata");
    }
  }
  return copy;
}

// Fields that writes through this endpoint do not touch: nobody comes to own them by it.
void DropOther(FieldSet& fields, const Resource& resource, const Writer& writer) {
  if (writer.subresource == "status") {
    fields.children.erase("f:spec");
    if (resource.is_custom) {
      std::erase_if(fields.children, [](const auto& child) { return child.first != "f:status"; });
    }
  } else if (resource.has_status) {
    fields.children.erase("f:status");
  }
}

void ForgetEmpty(Managers& managers) {
  std::erase_if(managers, [](const auto& entry) { return entry.second.fields.is_empty(); });
}

void SetFields(ManagerEntry& entry, FieldSet fields, const std::string& now) {
  if (entry.time.empty() || !(entry.fields == fields)) {
    entry.fields = std::move(fields);
    entry.time = now;
  }
}

Status Conflicts(const Managers& managers, const ManagerKey& own, const FieldSet& changed,
                 const json::object& live, const Resource& resource) {
  std::vector<Cause> causes;
  for (const auto& [key, entry] : managers) {
    if (key == own) {
      continue;
    }
    for (const std::string& field : entry.fields.And(changed).Names()) {
      std::string who = fmt::format("conflict with \"{}\"", key.manager);
      if (!key.subresource.empty()) {
        who += fmt::format(" with subresource \"{}\"", key.subresource);
      }
      if (key.operation == "Update") {
        who += fmt::format(" using {}", key.api_version);
        if (!entry.time.empty()) {
          who += fmt::format(" at {}", entry.time);
        }
      }
      causes.push_back({.reason = "FieldManagerConflict", .message = who, .field = field});
    }
  }
  if (causes.empty()) {
    return OkStatus();
  }
  std::string text =
      causes.size() == 1
          ? fmt::format("Apply failed with 1 conflict: {}: {}", causes[0].message, causes[0].field)
          : fmt::format("Apply failed with {} conflicts:", causes.size());
  for (const Cause& cause : causes.size() == 1 ? std::vector<Cause>() : causes) {
    text += fmt::format("\n- {}: {}", cause.message, cause.field);
  }
  return ObjectConflict(resource, TextAt(live, {"metadata", "name"}), text, causes);
}

// Others lose the fields that this apply changed, and what is gone.
void TakeFrom(Managers& managers, const ManagerKey& own, const FieldSet& changed,
              const FieldSet& removed) {
  for (auto& [key, entry] : managers) {
    FieldSet rest = entry.fields.WithoutTrees(removed);
    if (!(key == own)) {
      rest = rest.Without(changed);
    }
    entry.fields = std::move(rest);
  }
  ForgetEmpty(managers);
}

FieldSet Union(const Managers& managers) {
  FieldSet all;
  for (const auto& [key, entry] : managers) {
    all.Add(entry.fields);
  }
  return all;
}

// The result's identity: live's, and what the body brings to a new object.
json::object Assemble(const json::value& merged, const json::object& live,
                      const json::object& applied) {
  json::object result;
  for (const char* name : {"apiVersion", "kind"}) {
    if (const json::value* value = applied.if_contains(name); value != nullptr) {
      result[name] = *value;
    }
  }
  // By itself until the end: a field more in `result` moves all of its fields.
  json::object metadata;
  const json::object* from = ObjectAt(live.empty() ? applied : live, {"metadata"});
  for (const char* name : {"name", "namespace", "creationTimestamp", "uid", "generation",
                           "resourceVersion", "managedFields"}) {
    const json::value* value = from == nullptr ? nullptr : from->if_contains(name);
    if (value != nullptr) {
      metadata[name] = *value;
    }
  }
  for (const auto& [name, value] : merged.get_object()) {
    if (name != "metadata") {
      result[name] = value;
    } else if (value.is_object()) {
      for (const auto& [field, its] : value.get_object()) {
        metadata[field] = its;
      }
    }
  }
  result["metadata"] = std::move(metadata);
  return result;
}

}  // namespace

Managers ReadManagers(const json::object& object) {
  Managers managers;
  for (const json::value& item : ItemsAt(object, {"metadata", "managedFields"})) {
    const json::object* entry = item.if_object();
    if (entry == nullptr || TextAt(*entry, {"manager"}).empty()) {
      continue;
    }
    const json::object* fields = ObjectAt(*entry, {"fieldsV1"});
    managers[{.manager = std::string(TextAt(*entry, {"manager"})),
              .operation = std::string(TextAt(*entry, {"operation"})),
              .api_version = std::string(TextAt(*entry, {"apiVersion"})),
              .subresource = std::string(TextAt(*entry, {"subresource"}))}] = {
        .fields = fields == nullptr ? FieldSet() : FieldSet::FromJson(*fields),
        .time = std::string(TextAt(*entry, {"time"}))};
  }
  return managers;
}

void WriteManagers(const Managers& managers, json::object& object) {
  json::array list;
  for (const auto& [key, entry] : managers) {
    json::object item = {{"manager", key.manager},        {"operation", key.operation},
                         {"apiVersion", key.api_version}, {"time", entry.time},
                         {"fieldsType", "FieldsV1"},      {"fieldsV1", entry.fields.ToJson()}};
    if (!key.subresource.empty()) {
      item["subresource"] = key.subresource;
    }
    list.push_back(std::move(item));
  }
  json::object& metadata = MakeObject(object, "metadata");
  metadata.erase("managedFields");
  if (!list.empty()) {
    metadata["managedFields"] = std::move(list);
  }
}

void TrackUpdate(const json::object& before, json::object& after, const Resource& resource,
                 const Writer& writer) {
  // A client that sends an empty list wants the managers forgotten.
  const json::array* sent = ListAt(after, {"metadata", "managedFields"});
  const bool resets =
      sent != nullptr && (sent->empty() || (sent->size() == 1 && sent->front() == json::object()));
  Managers managers = resets ? Managers() : ReadManagers(after);
  if (managers.empty() && !resets) {
    managers = ReadManagers(before);
  }
  Differences found = Compare(OwnableParts(before), OwnableParts(after), resource.schema);
  FieldSet changed = std::move(found.added);
  changed.Add(found.modified);
  DropOther(changed, resource, writer);
  const ManagerKey own{.manager = writer.manager,
                       .operation = "Update",
                       .api_version = resource.ApiVersion(),
                       .subresource = writer.subresource};
  if (resets) {
    WriteManagers({}, after);
    return;
  }
  TakeFrom(managers, own, changed, found.removed);
  if (!changed.is_empty()) {
    FieldSet fields = managers.contains(own) ? managers[own].fields : FieldSet();
    fields.Add(changed);
    // As real servers do, the time is that of the last change by this manager.
    managers[own] = {.fields = std::move(fields), .time = writer.now};
  }
  WriteManagers(managers, after);
}

StatusOr<json::object> ApplyConfiguration(const json::object& live, const json::object& applied,
                                          const Resource& resource, const Writer& writer,
                                          bool force) {
  const json::value config = OwnableParts(applied);
  const json::value current = OwnableParts(live);
  Managers managers = ReadManagers(live);
  const ManagerKey own{.manager = writer.manager,
                       .operation = "Apply",
                       .api_version = resource.ApiVersion(),
                       .subresource = writer.subresource};
  RETURN_IF_ERROR(CheckItems(config, resource.schema));
  FieldSet fields = FieldsOf(config, resource.schema);
  fields.is_member = false;
  DropOther(fields, resource, writer);
  const FieldSet last = managers.contains(own) ? managers[own].fields : FieldSet();

  json::value merged = current;
  MergeTyped(merged, config, resource.schema);
  Differences found = Compare(current, merged, resource.schema);
  FieldSet changed = found.added;
  changed.Add(found.modified);
  if (!force) {
    RETURN_IF_ERROR(Conflicts(managers, own, changed, live, resource));
  }
  SetFields(managers[own], std::move(fields), writer.now);
  TakeFrom(managers, own, changed, found.removed);
  Prune(merged, last, Union(managers), resource.schema);
  TakeFrom(managers, own, FieldSet(), Compare(current, merged, resource.schema).removed);
  json::object result = Assemble(merged, live, applied);
  WriteManagers(managers, result);
  return result;
}

}  // namespace kgpu::apiserver
