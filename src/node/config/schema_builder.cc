#include "src/node/config/schema_builder.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/node/config/read_observer.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::config {
namespace {

namespace json = boost::json;

// A key of the map, or nothing for an item of the list.
using Step = std::optional<std::string>;
using Steps = std::vector<Step>;

// In the form of Node::path().
std::string PathOf(const Steps& steps) {
  std::string path;
  for (const Step& step : steps) {
    path += step ? (path.empty() ? "" : ".") + *step : "[0]";
  }
  return path;
}

// What the reader accepted for one value.
struct Accepted {
  bool is_map = false;
  bool takes_any_key = false;
  std::vector<std::string> keys{};
  bool is_list = false;
  bool is_string = false;
  bool is_bool = false;
  std::vector<std::string> words{};
  std::optional<std::pair<uint64_t, uint64_t>> number{};
};

// Notes one path only.
class PathObserver final : public ReadObserver {
 public:
  PathObserver(std::string path, Accepted& accepted)
      : path_(std::move(path)), accepted_(accepted) {}

  void OnFields(const std::string& path, std::span<const std::string_view> known) override {
    if (path == path_) {
      accepted_.is_map = true;
      accepted_.keys.assign(known.begin(), known.end());
    }
  }
  void OnAnyFields(const std::string& path) override {
    if (path == path_) {
      accepted_.is_map = true;
      accepted_.takes_any_key = true;
    }
  }
  void OnItems(const std::string& path) override { accepted_.is_list |= path == path_; }
  void OnString(const std::string& path) override { accepted_.is_string |= path == path_; }
  void OnWords(const std::string& path, std::span<const std::string_view> words) override {
    if (path == path_) {
      accepted_.words.assign(words.begin(), words.end());
    }
  }
  void OnBool(const std::string& path) override { accepted_.is_bool |= path == path_; }
  void OnNumber(const std::string& path, uint64_t low, uint64_t high) override {
    if (path == path_) {
      accepted_.number = {low, high};
    }
  }

 private:
  const std::string path_;
  Accepted& accepted_;
};

// Places for a tree that was never a text.
doc::Place PlaceOf(const json::value& value) {
  doc::Place place;
  if (const json::array* items = value.if_array()) {
    std::ranges::transform(*items, std::back_inserter(place.children), PlaceOf);
  } else if (const json::object* fields = value.if_object()) {
    for (const auto& field : *fields) {
      place.children.push_back(PlaceOf(field.value()));
    }
  }
  return place;
}

// The smallest document with `value` at the end of `steps`.
json::value DocumentWith(const Steps& steps, json::value value) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (*step) {
      json::object fields;
      fields[**step] = std::move(value);
      value = std::move(fields);
    } else {
      value = json::array{std::move(value)};
    }
  }
  return value;
}

Steps Below(Steps steps, Step step) {
  steps.push_back(std::move(step));
  return steps;
}

const json::value* DefaultBelow(const json::value* value, std::string_view key) {
  const json::object* fields = value == nullptr ? nullptr : value->if_object();
  return fields == nullptr ? nullptr : fields->if_contains(doc::View(key));
}

class SchemaBuilder {
 public:
  explicit SchemaBuilder(const ReadRoot& read) : read_(read) {}

  // `standard` is the default, or null if there is none.
  json::object Build(const Steps& steps, const json::value* standard) const {
    json::array schemas = Alternatives(steps, Ask(steps), standard);
    json::object schema;
    if (schemas.size() == 1) {
      schema = std::move(schemas.front().as_object());
    } else if (!schemas.empty()) {
      schema["anyOf"] = std::move(schemas);
    }
    if (standard != nullptr && !standard->is_object()) {
      schema["default"] = *standard;
    }
    return schema;
  }

 private:
  // A reader may ask a text for other things than a list.
  Accepted Ask(const Steps& steps) const {
    Accepted accepted;
    const std::array<json::value, 5> shapes = {"", 0, true, json::array(), json::object()};
    for (const json::value& shape : shapes) {
      doc::Located document;
      document.root = DocumentWith(steps, shape);
      document.place = PlaceOf(document.root);
      Problems problems("schema");
      PathObserver observer(PathOf(steps), accepted);
      read_(Node(document, problems, &observer), problems);
    }
    return accepted;
  }

  json::object MapSchema(const Steps& steps, const Accepted& accepted,
                         const json::value* standard) const {
    json::object schema{{"type", "object"}};
    if (accepted.takes_any_key) {
      schema["additionalProperties"] =
          Build(Below(steps, std::string(kAnyKey)), DefaultBelow(standard, kAnyKey));
      return schema;
    }
    json::object& properties = schema["properties"].emplace_object();
    for (const std::string& key : accepted.keys) {
      properties[key] = Build(Below(steps, key), DefaultBelow(standard, key));
    }
    schema["additionalProperties"] = false;
    return schema;
  }

  json::array Alternatives(const Steps& steps, const Accepted& accepted,
                           const json::value* standard) const {
    json::array schemas;
    if (accepted.is_map) {
      schemas.emplace_back(MapSchema(steps, accepted, standard));
    }
    if (accepted.is_list) {
      schemas.push_back(
          json::object{{"type", "array"}, {"items", Build(Below(steps, std::nullopt), nullptr)}});
    }
    if (!accepted.words.empty()) {
      schemas.push_back(json::object{{"enum", doc::Texts(accepted.words)}});
    }
    if (accepted.is_string) {
      schemas.push_back(json::object{{"type", "string"}});
    }
    if (accepted.is_bool) {
      schemas.push_back(json::object{{"type", "boolean"}});
    }
    if (accepted.number) {
      schemas.push_back(json::object{{"type", "integer"},
                                     {"minimum", accepted.number->first},
                                     {"maximum", accepted.number->second}});
    }
    return schemas;
  }

  const ReadRoot& read_;
};

}  // namespace

json::object SchemaOf(const ReadRoot& read, const json::value* standard) {
  return SchemaBuilder(read).Build({}, standard);
}

}  // namespace kgpu::config
