// An API type as far as the server uses it: which fields exist, which lists are merged and
// by which key. One tree serves server-side apply, strategic patches, type checks and
// OpenAPI.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::apiserver {

enum class SchemaKind : uint8_t {
  kAny,  // any content; maps in it are merged, lists replaced
  kString,
  kInteger,
  kNumber,
  kBoolean,
  kIntOrString,
  kStruct,  // named fields
  kMap,     // keys of the user's choice
  kList,
};

enum class ListType : uint8_t { kAtomic, kSet, kMap };

struct Schema {
  SchemaKind kind = SchemaKind::kAny;
  ListType list_type = ListType::kAtomic;
  bool is_atomic = false;    // a struct or map that is replaced as a whole
  bool merges = false;       // under strategic patches a list is merged, by merge_key
  bool is_open = false;      // a struct that may have other fields
  bool is_nullable = false;  // of a custom resource
  std::string format{};      // of a string: "quantity", "date-time", "micro-time", "byte"
  std::string name{};        // of a struct: "io.k8s.api.core.v1.NodeSpec"
  std::string description{};
  std::vector<std::pair<std::string, const Schema*>> fields{};  // of a struct
  const Schema* element = nullptr;                              // of a map or list; null: anything
  // Of a list of type map: fields that identify an item, with the value of an absent one.
  std::vector<std::pair<std::string, std::optional<std::string>>> keys{};
  std::string merge_key{};     // "": plain values
  std::string default_json{};  // of a field that is left out; "": none
  // Custom resources only.
  std::vector<std::string> required{};
  std::vector<std::string> allowed{};  // texts; empty: all
  std::optional<double> minimum, maximum;
  std::optional<size_t> min_length, max_length, min_items, max_items;
  std::string pattern{};  // of texts, as Go reads it; "": any

  const Schema* Field(std::string_view field) const;
};

// Owns schemas, whose addresses stay the same.
class SchemaSet {
 public:
  SchemaSet() = default;
  SchemaSet(const SchemaSet&) = delete;
  SchemaSet& operator=(const SchemaSet&) = delete;

  Schema& Make() { return schemas_.emplace_back(); }
  // Reads the compact notation of schema_text.h. Errors: Internal, with the line.
  Status AddText(std::string_view text);
  // The struct with that full name; null if there is none.
  const Schema* Find(std::string_view name) const;
  const std::map<std::string, Schema*, std::less<>>& structs() const { return structs_; }

 private:
  friend class SchemaTextReader;

  std::deque<Schema> schemas_;
  std::map<std::string, Schema*, std::less<>> structs_;
};

// The compiled-in types of Kubernetes that this server knows.
Status AddBuiltinSchemas(SchemaSet& set);

}  // namespace kgpu::apiserver
