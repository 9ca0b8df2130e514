#include "testing/apiserver/resource.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <boost/json.hpp>

#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {

std::string Resource::ApiVersion() const {
  return group.empty() ? version : fmt::format("{}/{}", group, version);
}

std::string Resource::ListKind() const {
  return fmt::format("{}List", kind);
}

std::string Resource::Qualified() const {
  return group.empty() ? plural : fmt::format("{}.{}", plural, group);
}

std::string Resource::StorageName() const {
  return storage.empty() ? Qualified() : storage;
}

bool Resource::HasSubresource(std::string_view name) const {
  return (name == "status" && has_status) ||
         std::ranges::find(subresources, name) != subresources.end();
}

ResourceTable::ResourceTable() : builtin_(std::make_shared<SchemaSet>()) {
  if (const Status status = AddBuiltinSchemas(*builtin_); !status.ok()) {
    // A mistake in the compiled-in text: nothing can be served.
    fmt::print(stderr, "{}\n", Message(status));
    std::abort();
  }
  for (Resource& resource : BuiltinResources()) {
    const auto& structs = builtin_->structs();
    const auto found = std::ranges::find_if(structs, [&](const auto& entry) {
      const size_t dot = entry.first.rfind('.');
      const std::string package = entry.first.substr(0, dot);
      const std::string group = resource.group.substr(0, resource.group.find('.'));
      const std::string wanted =
          fmt::format(".{}.{}", resource.group.empty() ? "core" : group, resource.version);
      return entry.first.substr(dot + 1) == resource.kind && package.ends_with(wanted);
    });
    resource.schema = found == structs.end() ? nullptr : found->second;
    resources_.push_back(std::make_shared<const Resource>(std::move(resource)));
  }
}

const Resource* ResourceTable::Find(std::string_view group, std::string_view version,
                                    std::string_view plural) const {
  const auto found = std::ranges::find_if(resources_, [&](const auto& one) {
    return one->plural == plural && one->group == group && one->version == version;
  });
  return found == resources_.end() ? nullptr : found->get();
}

const Resource* ResourceTable::FindKind(std::string_view group, std::string_view version,
                                        std::string_view kind) const {
  const auto found = std::ranges::find_if(resources_, [&](const auto& one) {
    return one->kind == kind && one->group == group && one->version == version;
  });
  return found == resources_.end() ? nullptr : found->get();
}

std::vector<const Resource*> ResourceTable::All() const {
  std::vector<const Resource*> all;
  for (const auto& resource : resources_) {
    all.push_back(resource.get());
  }
  return all;
}

void ResourceTable::PutCustom(const boost::json::object& crd) {
  RemoveCustom(TextAt(crd, {"spec", "group"}), TextAt(crd, {"spec", "names", "plural"}));
  for (Resource& resource : CustomResources(crd, *builtin_)) {
    resources_.push_back(std::make_shared<const Resource>(std::move(resource)));
  }
}

void ResourceTable::RemoveCustom(std::string_view group, std::string_view plural) {
  const auto is_it = [&](const auto& one) {
    return one->is_custom && one->group == group && one->plural == plural;
  };
  std::ranges::copy_if(resources_, std::back_inserter(replaced_), is_it);
  std::erase_if(resources_, is_it);
}

}  // namespace kgpu::apiserver
