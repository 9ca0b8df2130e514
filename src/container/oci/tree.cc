#include "src/container/oci/tree.h"

#include <boost/json/parser.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "src/container/oci/outline.h"
#include "src/container/oci/spec.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::oci {
namespace {

namespace json = boost::json;

constexpr size_t kMaxDepth = 64;

struct FieldPath {
  size_t length = 0;
  std::array<std::string_view, 3> names;
};

// In the order of the enumeration.
constexpr std::array<FieldPath, kFieldCount> kPaths = {{
    {2, {"process", "env"}},
    {3, {"process", "user", "additionalGids"}},
    {1, {"mounts"}},
    {2, {"linux", "devices"}},
    {3, {"linux", "resources", "devices"}},
    {2, {"linux", "netDevices"}},
    {2, {"hooks", "prestart"}},
    {2, {"hooks", "createRuntime"}},
    {2, {"hooks", "createContainer"}},
    {2, {"hooks", "startContainer"}},
    {2, {"hooks", "poststart"}},
    {2, {"hooks", "poststop"}},
}};

// The tree takes some three to five times the text; one piece of memory for most specs.
size_t FirstPiece(size_t text_size) {
  return std::max<size_t>(text_size * 4, 16 << 10);
}

std::string NameOfPath(std::span<const std::string_view> path) {
  return fmt::format("{}", fmt::join(path, "."));
}

}  // namespace

std::span<const std::string_view> PathOf(Field field) {
  const FieldPath& path = kPaths.at(static_cast<size_t>(field));
  return std::span(path.names).first(path.length);
}

std::string NameOf(Field field) {
  return NameOfPath(PathOf(field));
}

namespace {

// Parses `text` into `memory`. The offset of an error is that of the text given.
StatusOr<json::value> ParseText(std::string_view text, std::string_view file,
                                json::storage_ptr memory) {
  try {
    json::parse_options options;
    options.max_depth = kMaxDepth;
    json::parser parser(json::storage_ptr(), options);
    parser.reset(std::move(memory));
    json::error_code error;
    const size_t consumed = parser.write_some(text.data(), text.size(), error);
    if (!error && !Trim(text.substr(consumed)).empty()) {
      error = json::error::extra_data;
    }
    if (error) {
      return InvalidArgument("{}: not JSON at byte {}: {}", file, consumed + 1, error.message());
    }
    return parser.release();
  } catch (const std::exception& e) {
    return Internal("{}: {}", file, e.what());
  }
}

}  // namespace

Tree::Tree(std::string text, std::string file, size_t outline_size)
    : text_(std::move(text)),
      file_(std::move(file)),
      memory_(FirstPiece(outline_size)),
      root_(&memory_) {
}

StatusOr<std::unique_ptr<Tree>> Tree::Parse(std::string text, std::string file) {
  if (text.size() > kSpecLimit) {
    return OutOfRange("{}: {} bytes exceed the limit of {}", file, text.size(), kSpecLimit);
  }
  const std::optional<std::string> outline = Outline(text);
  if (!outline) {
    // A parser of everything tells what is wrong, and where.
    ASSIGN_OR_RETURN(const json::value whole, ParseText(text, file, {}));
    return InvalidArgument(
        "{}: {}", file,
        whole.is_object() ? "contains keys with escapes: write them without" : "must be a map");
  }
  std::unique_ptr<Tree> tree(
      new Tree(std::move(text), std::move(file), outline->size()));  // NOLINT: private
  StatusOr<json::value> root = ParseText(*outline, tree->file_, &tree->memory_);
  if (!root.ok()) {
    ASSIGN_OR_RETURN(const json::value whole, ParseText(tree->text_, tree->file_, {}));
    return root.status();
  }
  tree->root_ = *std::move(root);
  return tree;
}

StatusOr<const json::value*> Tree::Find(std::span<const std::string_view> path) const {
  const json::value* value = &root_;
  for (size_t i = 0; i < path.size(); ++i) {
    if (value->is_null()) {
      return nullptr;
    }
    const json::object* map = value->if_object();
    if (map == nullptr) {
      return TypeError(NameOfPath(path.first(i)), "a map");
    }
    value = map->if_contains(doc::View(path[i]));
    if (value == nullptr) {
      return nullptr;
    }
  }
  return value->is_null() ? nullptr : value;
}

StatusOr<const json::array*> Tree::FindList(Field field) const {
  ASSIGN_OR_RETURN(const json::value* value, Find(PathOf(field)));
  if (value == nullptr) {
    return nullptr;
  }
  const json::array* list = value->if_array();
  if (list == nullptr) {
    return TypeError(NameOf(field), "a list");
  }
  return list;
}

StatusOr<json::value*> Tree::Edit(Field field) {
  const std::span<const std::string_view> path = PathOf(field);
  json::value* value = &root_;
  for (size_t i = 0; i < path.size(); ++i) {
    if (value->is_null()) {
      value->emplace_object();
    }
    json::object* map = value->if_object();
    if (map == nullptr) {
      return TypeError(NameOfPath(path.first(i)), "a map");
    }
    value = &(*map)[doc::View(path[i])];
  }
  changed_.set(static_cast<size_t>(field));
  return value;
}

StatusOr<json::array*> Tree::EditList(Field field) {
  ASSIGN_OR_RETURN(json::value * value, Edit(field));
  if (value->is_null()) {
    value->emplace_array();
  }
  if (!value->is_array()) {
    return TypeError(NameOf(field), "a list");
  }
  return &value->get_array();
}

StatusOr<json::object*> Tree::EditMap(Field field) {
  ASSIGN_OR_RETURN(json::value * value, Edit(field));
  if (value->is_null()) {
    value->emplace_object();
  }
  if (!value->is_object()) {
    return TypeError(NameOf(field), "a map");
  }
  return &value->get_object();
}

const json::value& Tree::Get(Field field) const {
  const json::value* value = &root_;
  for (const std::string_view name : PathOf(field)) {
    value = &value->get_object().at(doc::View(name));
  }
  return *value;
}

Status Tree::TypeError(std::string_view what, std::string_view kind) const {
  return InvalidArgument("{}: {}: must be {}", file_, what, kind);
}

StatusOr<std::string_view> Tree::Text(const json::object& map, std::string_view name,
                                      std::string_view where) const {
  const json::value* value = map.if_contains(doc::View(name));
  if (value == nullptr || value->is_null()) {
    return std::string_view();
  }
  const json::string* text = value->if_string();
  if (text == nullptr) {
    return TypeError(fmt::format("{}.{}", where, name), "a string");
  }
  return std::string_view(text->data(), text->size());
}

StatusOr<std::string_view> Tree::TextOfEntry(const json::array& list, size_t index,
                                             std::string_view name,
                                             std::string_view list_name) const {
  const json::object* entry = list[index].if_object();
  if (entry == nullptr) {
    return TypeError(fmt::format("{}[{}]", list_name, index), "a map");
  }
  const json::value* value = entry->if_contains(doc::View(name));
  if (value == nullptr || value->is_null()) {
    return std::string_view();
  }
  const json::string* text = value->if_string();
  if (text == nullptr) {
    return TypeError(fmt::format("{}[{}].{}", list_name, index, name), "a string");
  }
  return std::string_view(text->data(), text->size());
}

}  // namespace kgpu::oci
