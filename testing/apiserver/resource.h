// The resources that are served, as data: a new one is a row, not code.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/apiserver/schema.h"

namespace kgpu::apiserver {

// A printed column of a custom resource.
struct Column {
  std::string name{};
  std::string type{};  // "string", "integer", "date"
  std::string description{};
  std::string json_path{};  // ".status.phase"
  int priority = 0;
};

// How the objects of a resource are stored: events in core's form, whatever API created them.
enum class StoredForm : uint8_t { kAsIs, kCoreEvent };

struct Resource {
  std::string group{};  // "" is core
  std::string version = "v1";
  std::string plural{};
  std::string singular{};
  std::string kind{};
  std::vector<std::string> short_names{};
  std::vector<std::string> categories{};
  bool is_namespaced = true;
  bool has_status = false;                     // the subresource
  bool has_generation = false;                 // metadata.generation follows the spec
  bool is_custom = false;                      // from a CustomResourceDefinition
  bool is_review = false;                      // create only, not stored
  bool needs_version_to_update = false;        // a PUT without resourceVersion is refused
  std::vector<std::string> subresources = {};  // beside status
  std::vector<std::string> selectable = {};  // field selectors beside metadata.name and .namespace
  std::vector<Column> columns = {};
  StoredForm form = StoredForm::kAsIs;
  std::string storage = {};                            // what it is kept under; "": its own name
  const Schema* schema = nullptr;                      // null: any content is valid
  std::shared_ptr<const SchemaSet> schema_owner = {};  // of a custom resource

  std::string ApiVersion() const;
  std::string ListKind() const;
  // "nodes", "leases.coordination.k8s.io": as in error texts and counters.
  std::string Qualified() const;
  // The name under which the store keeps its objects.
  std::string StorageName() const;
  bool HasSubresource(std::string_view name) const;
};

class ResourceTable {
 public:
  ResourceTable();

  const Resource* Find(std::string_view group, std::string_view version,
                       std::string_view plural) const;
  const Resource* FindKind(std::string_view group, std::string_view version,
                           std::string_view kind) const;
  // In discovery order.
  std::vector<const Resource*> All() const;
  const SchemaSet& builtin_schemas() const { return *builtin_; }

  // The resources of a CustomResourceDefinition, replacing previous ones; `crd` must be validated.
  // Existing pointers to resources stay valid until the table is destroyed.
  void PutCustom(const boost::json::object& crd);
  void RemoveCustom(std::string_view group, std::string_view plural);

 private:
  std::shared_ptr<SchemaSet> builtin_;
  std::vector<std::shared_ptr<const Resource>> resources_;
  std::vector<std::shared_ptr<const Resource>> replaced_;  // requests may still use them
};

// The built-in ones.
std::vector<Resource> BuiltinResources();
// One for each served version of a CustomResourceDefinition.
std::vector<Resource> CustomResources(const boost::json::object& crd, const SchemaSet& builtin);

}  // namespace kgpu::apiserver
