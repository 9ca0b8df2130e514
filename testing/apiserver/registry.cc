#include "testing/apiserver/registry.h"

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "testing/apiserver/event_form.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/json_patches.h"
#include "testing/apiserver/services.h"
#include "testing/apiserver/strategic_patch.h"
#include "testing/apiserver/time_text.h"
#include "testing/apiserver/validation.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

// Fields that a write may not change.
constexpr const char* kIdentity[] = {"name",
                                     "namespace",
                                     "uid",
                                     "creationTimestamp",
                                     "deletionTimestamp",
                                     "deletionGracePeriodSeconds",
                                     "generation",
                                     "resourceVersion",
                                     "selfLink"};

ObjectKey KeyOf(const json::object& object) {
  return {std::string(TextAt(object, {"metadata", "namespace"})),
          std::string(TextAt(object, {"metadata", "name"}))};
}

void CopyField(const json::object& from, json::object& to, std::string_view name) {
  const json::string_view key(name.data(), name.size());
  if (const json::value* value = from.if_contains(key); value != nullptr) {
    to[key] = *value;
  } else {
    to.erase(key);
  }
}

// The parts that this endpoint does not write come from the object as it was.
void SplitSubresource(const Resource& resource, const json::object& before, json::object& after,
                      std::string_view subresource) {
  if (subresource == "status") {
    json::object result = before;
    CopyField(after, result, "status");
    if (!resource.is_custom) {
      result["metadata"] = after["metadata"];
    }
    after = std::move(result);
  } else if (resource.has_status) {
    CopyField(before, after, "status");
  }
}

// Whether anything beside metadata and status differs.
bool SpecDiffers(const json::object& before, const json::object& after) {
  const auto spec = [](json::object object) {
    object.erase("metadata");
    object.erase("status");
    return object;
  };
  return spec(before) != spec(after);
}

// Equal but for the times of managed fields.
bool IsSame(const json::object& before, const json::object& after) {
  const auto strip = [](json::object object) {
    MakeObject(object, "metadata").erase("managedFields");
    return object;
  };
  if (strip(before) != strip(after)) {
    return false;
  }
  const Managers old_managers = ReadManagers(before);
  const Managers new_managers = ReadManagers(after);
  return std::equal(old_managers.begin(), old_managers.end(), new_managers.begin(),
                    new_managers.end(), [](const auto& a, const auto& b) {
                      return a.first == b.first && a.second.fields == b.second.fields;
                    });
}

Status CheckKind(const Resource& resource, json::object& object) {
  const std::string_view kind = TextAt(object, {"kind"});
  const std::string_view version = TextAt(object, {"apiVersion"});
  if ((!kind.empty() && kind != resource.kind) ||
      (!version.empty() && version != resource.ApiVersion())) {
    return BadRequest(
        fmt::format("the API version and kind of the object ({}, {}) are not those "
                    "of this endpoint ({}, {})",
                    version, kind, resource.ApiVersion(), resource.kind));
  }
  object["apiVersion"] = resource.ApiVersion();
  object["kind"] = resource.kind;
  const json::value* metadata = object.if_contains("metadata");
  if (metadata != nullptr && !metadata->is_object() && !metadata->is_null()) {
    return BadRequest("metadata must be an object");
  }
  return OkStatus();
}

}  // namespace

Registry::Registry(EventLoop& loop, Store& store, ResourceTable& resources, RegistryOptions options)
    : loop_(loop),
      store_(store),
      resources_(resources),
      options_(options),
      random_(options.seed * 0x9E3779B97F4A7C15ULL + 1),
      self_(std::make_shared<Registry*>(this)) {
}

// splitmix64: the same seed, the same names.
uint64_t Registry::Random() {
  random_ += 0x9E3779B97F4A7C15ULL;
  uint64_t z = random_;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
  return z ^ z >> 31;
}

std::string Registry::Now() const {
  return TimeText(loop_.clock().WallNow());
}

std::string Registry::NewUid() {
  const uint64_t a = Random();
  const uint64_t b = Random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", a >> 32, a >> 16 & 0xFFFF, a & 0xFFF,
                     b >> 48 & 0xFFF, b & 0xFFFFFFFFFFFF);
}

StatusOr<StoredPtr> Registry::Get(const Resource& resource, const ObjectKey& key) const {
  StoredPtr found = store_.Get(resource.StorageName(), key);
  if (found == nullptr) {
    return NoSuchObject(resource, key.name);
  }
  return found;
}

Status Registry::CheckPlace(const Resource& resource, const std::string& name_space,
                            json::object& object) const {
  json::object& metadata = MakeObject(object, "metadata");
  const std::string_view own = TextAt(metadata, {"namespace"});
  if (!resource.is_namespaced) {
    metadata.erase("namespace");
    return OkStatus();
  }
  if (!own.empty() && own != name_space) {
    return BadRequest(
        fmt::format("the object's namespace {} is not that of the request, {}", own, name_space));
  }
  metadata["namespace"] = name_space;
  const Resource* namespaces = resources_.Find("", "v1", "namespaces");
  const StoredPtr home = store_.Get("namespaces", {"", name_space});
  if (home == nullptr) {
    return NoSuchObject(*namespaces, name_space);
  }
  if (FieldAt(home->object(), {"metadata", "deletionTimestamp"}) != nullptr) {
    return Failure(
        403, "Forbidden",
        fmt::format("namespace {} is being terminated: nothing new can be made in it", name_space),
        {{"causes",
          json::array{{{"reason", "NamespaceTerminating"}, {"field", "metadata.namespace"}}}}});
  }
  return OkStatus();
}

Status Registry::NameObject(const Resource& resource, json::object& object) {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  json::object& metadata = MakeObject(object, "metadata");
  const std::string prefix(TextAt(metadata, {"generateName"}).substr(0, 58));
  if (!TextAt(metadata, {"name"}).empty() || prefix.empty()) {
    return OkStatus();
  }
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::string name = prefix;
    for (int i = 0; i < 5; ++i) {
      name += kLetters[Random() % kLetters.size()];
    }
    metadata["name"] = name;
    if (store_.Get(resource.StorageName(), KeyOf(object)) == nullptr) {
      break;
    }
  }
  return OkStatus();
}

StatusOr<Written> Registry::Create(const Resource& resource, const std::string& name_space,
                                   json::object object, const WriteOptions& options) {
  RETURN_IF_ERROR(CheckKind(resource, object));
  RETURN_IF_ERROR(CheckPlace(resource, name_space, object));
  if (!TextAt(object, {"metadata", "resourceVersion"}).empty()) {
    return BadRequest("resourceVersion should not be set on objects to be created");
  }
  MakeObject(object, "metadata").erase("managedFields");
  return Insert(resource, std::move(object), options, true);
}

StatusOr<Written> Registry::Insert(const Resource& resource, json::object object,
                                   const WriteOptions& options, bool tracks) {
  RETURN_IF_ERROR(NameObject(resource, object));
  RETURN_IF_ERROR(CheckTypes(object, resource));
  json::object& metadata = MakeObject(object, "metadata");
  for (const char* name : {"resourceVersion", "selfLink", "deletionTimestamp",
                           "deletionGracePeriodSeconds", "generation"}) {
    metadata.erase(name);
  }
  metadata["uid"] = NewUid();
  metadata["creationTimestamp"] = Now();
  if (resource.has_generation) {
    metadata["generation"] = 1;
  }
  FillIn(resource, object, true, Now());
  if (resource.kind == "Service" && resource.group.empty()) {
    RETURN_IF_ERROR(PlaceService(store_, object));
  }
  if (const auto causes = Validate(resource, object, nullptr); !causes.empty()) {
    return InvalidObject(resource, TextAt(object, {"metadata", "name"}), causes);
  }
  const ObjectKey key = KeyOf(object);
  if (store_.Get(resource.StorageName(), key) != nullptr) {
    return ObjectExists(resource, key.name);
  }
  if (tracks) {
    TrackUpdate({}, object, resource,
                {.manager = options.manager, .subresource = options.subresource, .now = Now()});
  }
  if (options.is_dry_run) {
    return Written{.object = std::make_shared<const Stored>(ToStored(resource, object), 0),
                   .is_created = true};
  }
  return Written{.object = Save(resource, key, object), .is_created = true};
}

Status Registry::CheckIdentity(const Resource& resource, const json::object& before,
                               const json::object& after) const {
  const std::string_view name = TextAt(before, {"metadata", "name"});
  if (const std::string_view asked = TextAt(after, {"metadata", "name"});
      !asked.empty() && asked != name) {
    return BadRequest(
        fmt::format("the object's name {} is not that of the request, {}", asked, name));
  }
  const std::string_view uid = TextAt(after, {"metadata", "uid"});
  if (!uid.empty() && uid != TextAt(before, {"metadata", "uid"})) {
    return ObjectConflict(
        resource, name,
        fmt::format("{} \"{}\": metadata.uid must be {} and is {}", resource.Qualified(), name, uid,
                    TextAt(before, {"metadata", "uid"})));
  }
  const std::string_view version = TextAt(after, {"metadata", "resourceVersion"});
  if (!version.empty() && version != TextAt(before, {"metadata", "resourceVersion"})) {
    return ObjectConflict(resource, name,
                          fmt::format("{} \"{}\": the object has been modified since version {}: "
                                      "read it again and repeat the change",
                                      resource.Qualified(), name, version));
  }
  return OkStatus();
}

StatusOr<Written> Registry::Update(const Resource& resource, const ObjectKey& key,
                                   json::object object, const WriteOptions& options) {
  ASSIGN_OR_RETURN(const StoredPtr current, Get(resource, key));
  RETURN_IF_ERROR(CheckKind(resource, object));
  if (resource.needs_version_to_update && TextAt(object, {"metadata", "resourceVersion"}).empty()) {
    return InvalidObject(
        resource, key.name,
        {InvalidValue("metadata.resourceVersion", "0", "must be specified for an update")});
  }
  return Replace(resource, key, ToExternal(resource, current->object()), std::move(object), options,
                 true);
}

StatusOr<Written> Registry::Patch(const Resource& resource, const ObjectKey& key, PatchType type,
                                  const json::value& patch, const WriteOptions& options) {
  ASSIGN_OR_RETURN(const StoredPtr current, Get(resource, key));
  const json::object before = ToExternal(resource, current->object());
  json::value after = before;
  if (type == PatchType::kJson) {
    RETURN_IF_ERROR(JsonPatch(after, patch));
  } else if (!patch.is_object()) {
    return BadRequest("the patch must be an object");
  } else if (type == PatchType::kMerge) {
    MergePatch(after, patch);
  } else {
    RETURN_IF_ERROR(StrategicPatch(after.get_object(), patch.get_object(), resource.schema));
  }
  if (!after.is_object()) {
    return BadRequest("the patch leaves no object");
  }
  RETURN_IF_ERROR(CheckKind(resource, after.get_object()));
  return Replace(resource, key, before, std::move(after.get_object()), options, true);
}

StatusOr<Written> Registry::Apply(const Resource& resource, const ObjectKey& key,
                                  const json::object& applied, const WriteOptions& options) {
  json::object body = applied;
  if (TextAt(body, {"apiVersion"}).empty() || TextAt(body, {"kind"}).empty()) {
    return BadRequest("an applied object must have apiVersion and kind");
  }
  RETURN_IF_ERROR(CheckKind(resource, body));
  if (const json::array* managed = ListAt(body, {"metadata", "managedFields"});
      managed != nullptr && !managed->empty()) {
    return BadRequest("metadata.managedFields must be nil");
  }
  const Writer writer{.manager = options.manager, .subresource = options.subresource, .now = Now()};
  const StoredPtr current = store_.Get(resource.StorageName(), key);
  if (current == nullptr) {
    if (!options.subresource.empty()) {
      return NoSuchObject(resource, key.name);
    }
    if (!TextAt(body, {"metadata", "uid"}).empty()) {
      return ObjectConflict(
          resource, key.name,
          fmt::format("there is no object with uid {}", TextAt(body, {"metadata", "uid"})));
    }
    MakeObject(body, "metadata")["name"] = key.name;
    RETURN_IF_ERROR(CheckPlace(resource, key.name_space, body));
    ASSIGN_OR_RETURN(json::object fresh,
                     ApplyConfiguration({}, body, resource, writer, options.force));
    return Insert(resource, std::move(fresh), options, false);
  }
  const json::object before = ToExternal(resource, current->object());
  RETURN_IF_ERROR(CheckIdentity(resource, before, body));
  RETURN_IF_ERROR(CheckTypes(body, resource));
  ASSIGN_OR_RETURN(json::object after,
                   ApplyConfiguration(before, body, resource, writer, options.force));
  return Replace(resource, key, before, std::move(after), options, false);
}

StatusOr<Written> Registry::Replace(const Resource& resource, const ObjectKey& key,
                                    const json::object& before, json::object after,
                                    const WriteOptions& options, bool tracks) {
  RETURN_IF_ERROR(CheckIdentity(resource, before, after));
  RETURN_IF_ERROR(CheckTypes(after, resource));
  const json::object* old_metadata = ObjectAt(before, {"metadata"});
  json::object& metadata = MakeObject(after, "metadata");
  for (const char* name : kIdentity) {
    CopyField(*old_metadata, metadata, name);
  }
  SplitSubresource(resource, before, after, options.subresource);
  FillIn(resource, after, false, Now());
  if (resource.kind == "Service" && resource.group.empty()) {
    RETURN_IF_ERROR(PlaceService(store_, after));
  }
  if (const auto causes = Validate(resource, after, &before); !causes.empty()) {
    return InvalidObject(resource, key.name, causes);
  }
  if (resource.has_generation && SpecDiffers(before, after)) {
    MakeObject(after, "metadata")["generation"] =
        NumberAt(before, {"metadata", "generation"}, 0) + 1;
  }
  if (tracks) {
    TrackUpdate(before, after, resource,
                {.manager = options.manager, .subresource = options.subresource, .now = Now()});
  }
  if (IsSame(before, after)) {
    return Written{.object = store_.Get(resource.StorageName(), key), .has_changed = false};
  }
  if (options.is_dry_run) {
    return Written{.object = std::make_shared<const Stored>(ToStored(resource, after), 0)};
  }
  // A pod goes once its kubelet has stopped it, or with the last finalizer after that.
  const bool goes = FieldAt(after, {"metadata", "deletionTimestamp"}) != nullptr &&
                    !HasFinalizers(after) && (resource.kind != "Pod" || HasFinalizers(before));
  StoredPtr stored = Save(resource, key, after);
  if (goes) {
    Vanish(resource, key, false);
  }
  return Written{.object = std::move(stored), .is_gone = goes};
}

StoredPtr Registry::Save(const Resource& resource, const ObjectKey& key,
                         const json::object& object) {
  json::object stored = ToStored(resource, object);
  if (resource.kind == "CustomResourceDefinition") {
    const json::object* names = ObjectAt(stored, {"spec", "names"});
    json::object& status = MakeObject(stored, "status");
    status["acceptedNames"] = names == nullptr ? json::object() : *names;
    json::array conditions;
    for (const auto& [type, reason] : {std::pair{"NamesAccepted", "NoConflicts"},
                                       std::pair{"Established", "InitialNamesAccepted"}}) {
      conditions.push_back(
          {{"type", type},
           {"status", "True"},
           {"reason", reason},
           {"message", ""},
           {"lastTransitionTime", TextAt(stored, {"metadata", "creationTimestamp"})}});
    }
    status["conditions"] = std::move(conditions);
    json::array versions;
    const json::array* listed = ListAt(stored, {"spec", "versions"});
    for (const json::value& version : *listed) {
      if (FlagAt(version.get_object(), {"storage"})) {
        versions.push_back(version.get_object().at("name"));
      }
    }
    status["storedVersions"] = std::move(versions);
    resources_.PutCustom(stored);
  }
  return store_.Put(resource.StorageName(), key, std::move(stored));
}

}  // namespace kgpu::apiserver
