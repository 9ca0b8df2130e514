#include "src/kube/api/json.h"

#include <boost/json/serialize.hpp>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::kube {

namespace json = boost::json;

StatusOr<json::value> ParseObject(std::string_view text, std::string_view what) {
  constexpr size_t kDepth = 128;  // schemas in CustomResourceDefinitions nest deep
  ASSIGN_OR_RETURN(json::value value,
                   doc::ParseJson(text, what, {.bytes = text.size(), .depth = kDepth}));
  if (!value.is_object()) {
    return InvalidArgument("{}: must be a JSON object", what);
  }
  return value;
}

std::string BodyOf(const json::value& value) {
  return json::serialize(value);
}

const json::value* FindField(const json::value& object,
                             std::initializer_list<std::string_view> path) {
  const json::value* at = &object;
  for (const std::string_view key : path) {
    const json::object* fields = at->if_object();
    at = fields == nullptr ? nullptr : fields->if_contains({key.data(), key.size()});
    if (at == nullptr) {
      return nullptr;
    }
  }
  return at;
}

std::string_view TextField(const json::value& object,
                           std::initializer_list<std::string_view> path) {
  const json::value* value = FindField(object, path);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

const json::array& ArrayField(const json::value& object,
                              std::initializer_list<std::string_view> path) {
  static const json::array kNone;
  const json::value* list = FindField(object, path);
  return list != nullptr && list->is_array() ? list->get_array() : kNone;
}

std::optional<int64_t> IntField(const json::value& object,
                                std::initializer_list<std::string_view> path) {
  const json::value* value = FindField(object, path);
  const int64_t* number = value == nullptr ? nullptr : value->if_int64();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::string_view NameOf(const json::value& object) {
  return TextField(object, {"metadata", "name"});
}

std::string_view NamespaceOf(const json::value& object) {
  return TextField(object, {"metadata", "namespace"});
}

std::string_view VersionOf(const json::value& object) {
  return TextField(object, {"metadata", "resourceVersion"});
}

}  // namespace kgpu::kube
