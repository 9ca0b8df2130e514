#include "src/node/config/schema.h"

#include <boost/json.hpp>

#include <utility>

#include "src/node/config/node_config.h"
#include "src/node/config/node_config_reader.h"
#include "src/node/config/schema_builder.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::config {

namespace json = boost::json;

json::value NodeConfigSchema() {
  const auto standard =
      doc::Parse(PrintNodeConfig(DefaultNodeConfig(), doc::Format::kJson), doc::Format::kJson, "");
  json::object schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                      {"title", "NodeConfig of kgpu"}};
  const auto read = [](const Node& root, Problems& problems) {
    (void)ReadNodeConfig(root, problems);
  };
  json::object body = SchemaOf(read, standard.ok() ? &*standard : nullptr);
  for (auto& field : body) {
    schema[field.key()] = std::move(field.value());
  }
  json::object& properties = schema["properties"].as_object();
  properties["apiVersion"] = {{"const", doc::View(kApiVersion)}};
  properties["kind"] = {{"const", doc::View(kNodeConfigKind)}};
  schema["required"] = {"apiVersion", "kind"};
  return schema;
}

}  // namespace kgpu::config
