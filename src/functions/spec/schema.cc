#include "src/functions/spec/schema.h"

#include <boost/json.hpp>

#include <string_view>
#include <utility>

#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/functions_reader.h"
#include "src/node/config/schema_builder.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

// The defaults of any function.
json::value DefaultTree() {
  FunctionsFile file;
  file.functions.push_back({.name = std::string(config::kAnyKey)});
  return FunctionsFileTree(file);
}

// The schema of a key of a map.
json::object& Below(json::object& schema, std::string_view key) {
  return schema["properties"].as_object()[doc::View(key)].as_object();
}

// The reader takes the text, where editors see a number: 0.5.
void AllowNumber(json::object& schema) {
  schema["anyOf"].as_array().push_back(json::object{{"type", "number"}});
}

}  // namespace

json::value FunctionsFileSchema() {
  json::object schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                      {"title", "Functions of kgpu"}};
  const json::value standard = DefaultTree();
  json::object body =
      config::SchemaOf([](const config::Node& root,
                          config::Problems& problems) { (void)ReadFunctionsFile(root, problems); },
                       &standard);
  for (auto& field : body) {
    schema[field.key()] = std::move(field.value());
  }
  json::object& function = Below(schema, "functions")["additionalProperties"].as_object();
  for (const std::string_view resources : {"limits", "requests"}) {
    AllowNumber(Below(Below(function, resources), "cpu"));
  }
  for (const std::string_view texts : {"environment", "labels", "annotations"}) {
    AllowNumber(Below(function, texts)["additionalProperties"].as_object());
  }
  schema["required"] = json::array{"functions"};
  return schema;
}

}  // namespace kgpu::functions
