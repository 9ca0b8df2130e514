#include "testing/apiserver/schema.h"

#include "testing/apiserver/schema_text.h"

namespace kgpu::apiserver {

const Schema* Schema::Field(std::string_view field) const {
  for (const auto& [its_name, schema] : fields) {
    if (its_name == field) {
      return schema;
    }
  }
  return nullptr;
}

const Schema* SchemaSet::Find(std::string_view name) const {
  const auto found = structs_.find(name);
  return found == structs_.end() ? nullptr : found->second;
}

Status AddBuiltinSchemas(SchemaSet& set) {
  std::string all;
  for (const std::string_view part :
       {kMetaSchemas, kNodeSchemas, kPodSchemas, kVolumeSchemas, kWorkloadSchemas, kRunSchemas,
        kAccessSchemas, kPolicySchemas, kResourceSchemas}) {
    all.append(part);
  }
  return set.AddText(all);
}

}  // namespace kgpu::apiserver
