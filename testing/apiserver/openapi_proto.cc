// OpenAPI version 2 as gnostic's protocol buffer, written by hand from the JSON: only the fields
// that clients read. Source: gnostic, openapiv2/OpenAPIv2.proto (field numbers).
#include <boost/json.hpp>

#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/openapi.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

std::string_view StdView(json::string_view text) {
  return {text.data(), text.size()};
}

// A message that is being written: all that is needed here are nested messages and texts.
class Message {
 public:
  void Text(int field, std::string_view text) {
    if (!text.empty()) {
      Bytes(field, text);
    }
  }
  void Nested(int field, const Message& message) { Bytes(field, message.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Bytes(int field, std::string_view bytes) {
    static constexpr uint64_t kLengthDelimited = 2;
    Number(static_cast<uint64_t>(field) << 3 | kLengthDelimited);
    Number(bytes.size());
    bytes_.append(bytes);
  }
  void Number(uint64_t number) {
    while (number >= 0x80) {
      bytes_ += static_cast<char>((number & 0x7F) | 0x80);
      number >>= 7;
    }
    bytes_ += static_cast<char>(number);
  }

  std::string bytes_;
};

// NamedAny with its value as YAML, of which JSON is a part.
Message VendorExtension(std::string_view name, const json::value& value) {
  Message any;
  any.Text(2, json::serialize(value));
  Message named;
  named.Text(1, name);
  named.Nested(2, any);
  return named;
}

Message SchemaMessage(const json::object& schema);

Message NamedSchema(std::string_view name, const json::value& schema) {
  Message named;
  named.Text(1, name);
  named.Nested(2, SchemaMessage(schema.get_object()));
  return named;
}

Message SchemaMessage(const json::object& schema) {
  Message message;
  message.Text(1, TextAt(schema, {"$ref"}));
  message.Text(2, TextAt(schema, {"format"}));
  message.Text(4, TextAt(schema, {"description"}));
  for (const json::value& name : ItemsAt(schema, {"required"})) {
    message.Text(19, PlainText(&name));
  }
  if (const json::object* values = ObjectAt(schema, {"additionalProperties"}); values != nullptr) {
    Message item;
    item.Nested(1, SchemaMessage(*values));
    message.Nested(21, item);
  }
  if (const std::string_view type = TextAt(schema, {"type"}); !type.empty()) {
    Message item;
    item.Text(1, type);
    message.Nested(22, item);
  }
  if (const json::object* items = ObjectAt(schema, {"items"}); items != nullptr) {
    Message item;
    item.Nested(1, SchemaMessage(*items));
    message.Nested(23, item);
  }
  if (const json::object* properties = ObjectAt(schema, {"properties"}); properties != nullptr) {
    Message all;
    for (const auto& [name, property] : *properties) {
      all.Nested(1, NamedSchema(StdView(name), property));
    }
    message.Nested(25, all);
  }
  for (const auto& [name, value] : schema) {
    if (StdView(name).starts_with("x-")) {
      message.Nested(31, VendorExtension(StdView(name), value));
    }
  }
  return message;
}

// ParametersItem → Parameter → NonBodyParameter → QueryParameterSubSchema.
Message ParameterMessage(const json::object& parameter) {
  Message query;
  query.Text(2, "query");
  query.Text(4, TextAt(parameter, {"name"}));
  query.Text(6, "string");
  Message non_body;
  non_body.Nested(3, query);
  Message any;
  any.Nested(2, non_body);
  Message item;
  item.Nested(1, any);
  return item;
}

Message OperationMessage(const json::object& operation) {
  Message message;
  for (const json::value& parameter : operation.at("parameters").get_array()) {
    message.Nested(8, ParameterMessage(parameter.get_object()));
  }
  for (const auto& [name, value] : operation) {
    if (StdView(name).starts_with("x-")) {
      message.Nested(13, VendorExtension(StdView(name), value));
    }
  }
  return message;
}

Message PathsMessage(const json::object& paths) {
  Message message;
  for (const auto& [path, item] : paths) {
    Message operations;
    operations.Nested(8, OperationMessage(item.get_object().at("patch").get_object()));
    Message named;
    named.Text(1, StdView(path));
    named.Nested(2, operations);
    message.Nested(2, named);
  }
  return message;
}

}  // namespace

std::string OpenApiV2Proto(const ResourceTable& resources) {
  const json::object document = OpenApiV2(resources);
  Message info;
  info.Text(1, TextAt(document, {"info", "title"}));
  info.Text(2, TextAt(document, {"info", "version"}));
  Message definitions;
  for (const auto& [name, schema] : document.at("definitions").get_object()) {
    definitions.Nested(1, NamedSchema(StdView(name), schema));
  }
  Message message;
  message.Text(1, TextAt(document, {"swagger"}));
  message.Nested(2, info);
  message.Nested(8, PathsMessage(document.at("paths").get_object()));
  message.Nested(9, definitions);
  return message.bytes();
}

}  // namespace kgpu::apiserver
