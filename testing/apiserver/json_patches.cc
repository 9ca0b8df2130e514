#include "testing/apiserver/json_patches.h"

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr size_t kMaxOperations = 10'000;
// A copy of what was copied doubles: bounds what a patch can make.
constexpr size_t kMaxCopies = 100;

Status Unprocessable(std::string_view why) {
  return Failure(
      422, "Invalid",
      fmt::format("the server rejected our request due to an error in our request: {}", why));
}

using Tokens = std::vector<std::string>;

// "~1" is "/", "~0" is "~".
StatusOr<Tokens> ParsePointer(std::string_view text) {
  Tokens tokens;
  if (text.empty()) {
    return tokens;
  }
  if (text.front() != '/') {
    return Unprocessable(fmt::format("path \"{}\" must begin with '/'", text));
  }
  for (const std::string_view part : Split(text.substr(1), '/')) {
    std::string& token = tokens.emplace_back();
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1')) {
        token += part[++i] == '0' ? '~' : '/';
      } else {
        token += part[i];
      }
    }
  }
  return tokens;
}

// Position in a list of `size`; "-" is its end.
StatusOr<size_t> Index(std::string_view token, size_t size, bool may_append) {
  if (token == "-" && may_append) {
    return size;
  }
  const auto index = ParseUint(token);
  if (!index || *index > size || (*index == size && !may_append)) {
    return Unprocessable(fmt::format("no item {} in a list of {}", token, size));
  }
  return static_cast<size_t>(*index);
}

StatusOr<json::value*> Child(json::value& parent, const std::string& token) {
  if (json::object* object = parent.if_object(); object != nullptr) {
    json::value* found = object->if_contains(doc::View(token));
    if (found != nullptr) {
      return found;
    }
  } else if (json::array* list = parent.if_array(); list != nullptr) {
    ASSIGN_OR_RETURN(const size_t index, Index(token, list->size(), false));
    return &(*list)[index];
  }
  return Unprocessable(fmt::format("there is no \"{}\" at that path", token));
}

StatusOr<json::value*> Resolve(json::value& root, const Tokens& tokens, size_t count) {
  json::value* current = &root;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(current, Child(*current, tokens[i]));
  }
  return current;
}

Status Add(json::value& root, const Tokens& path, json::value value) {
  if (path.empty()) {
    root = std::move(value);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(json::value * parent, Resolve(root, path, path.size() - 1));
  if (json::object* object = parent->if_object(); object != nullptr) {
    (*object)[doc::View(path.back())] = std::move(value);
    return OkStatus();
  }
  if (json::array* list = parent->if_array(); list != nullptr) {
    ASSIGN_OR_RETURN(const size_t index, Index(path.back(), list->size(), true));
    list->insert(list->begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
    return OkStatus();
  }
  return Unprocessable(fmt::format("what holds \"{}\" is no map or list", path.back()));
}

Status Remove(json::value& root, const Tokens& path) {
  if (path.empty()) {
    return Unprocessable("the whole object cannot be removed");
  }
  ASSIGN_OR_RETURN(json::value * parent, Resolve(root, path, path.size() - 1));
  if (json::object* object = parent->if_object(); object != nullptr) {
    if (object->erase(doc::View(path.back())) == 0) {
      return Unprocessable(fmt::format("there is no \"{}\" to remove", path.back()));
    }
    return OkStatus();
  }
  if (json::array* list = parent->if_array(); list != nullptr) {
    ASSIGN_OR_RETURN(const size_t index, Index(path.back(), list->size(), false));
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(index));
    return OkStatus();
  }
  return Unprocessable(fmt::format("what holds \"{}\" is no map or list", path.back()));
}

Status Test(json::value& root, const Tokens& path, const json::value& expected) {
  const StatusOr<json::value*> found = Resolve(root, path, path.size());
  // A missing value equals null, as in the library that real servers use.
  const bool is_equal = found.ok() ? **found == expected : expected.is_null();
  if (!is_equal) {
    return Unprocessable("a test of the patch failed");
  }
  return OkStatus();
}

Status ApplyOne(json::value& root, const json::object& operation, size_t& copies) {
  const std::string_view op = TextAt(operation, {"op"});
  ASSIGN_OR_RETURN(const Tokens path, ParsePointer(TextAt(operation, {"path"})));
  const json::value* value = FieldAt(operation, {"value"});
  if (op == "remove") {
    return Remove(root, path);
  }
  if (op == "move" || op == "copy") {
    ASSIGN_OR_RETURN(const Tokens from, ParsePointer(TextAt(operation, {"from"})));
    ASSIGN_OR_RETURN(json::value * source, Resolve(root, from, from.size()));
    json::value moved = *source;
    if (op == "move") {
      RETURN_IF_ERROR(Remove(root, from));
    } else if (++copies > kMaxCopies) {
      return Unprocessable("too many copies");
    }
    return Add(root, path, std::move(moved));
  }
  if (value == nullptr && (op == "add" || op == "replace" || op == "test")) {
    return BadRequest(fmt::format("operation {} has no value", op));
  }
  if (op == "add") {
    return Add(root, path, *value);
  }
  if (op == "test") {
    return Test(root, path, *value);
  }
  if (op == "replace") {
    ASSIGN_OR_RETURN(json::value * target, Resolve(root, path, path.size()));
    *target = *value;
    return OkStatus();
  }
  return BadRequest(fmt::format("unknown operation \"{}\" in a JSON patch", op));
}

}  // namespace

void MergePatch(json::value& target, const json::value& patch) {
  const json::object* fields = patch.if_object();
  if (fields == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) {
    target.emplace_object();
  }
  json::object& object = target.get_object();
  for (const auto& [name, value] : *fields) {
    if (value.is_null()) {
      object.erase(name);
    } else {
      MergePatch(object[name], value);
    }
  }
}

Status JsonPatch(json::value& target, const json::value& patch) {
  const json::array* operations = patch.if_array();
  if (operations == nullptr) {
    return BadRequest("a JSON patch must be a list of operations");
  }
  if (operations->size() > kMaxOperations) {
    return Failure(413, "RequestEntityTooLarge", "a JSON patch may have 10,000 operations");
  }
  json::value result = target;
  size_t copies = 0;
  for (const json::value& operation : *operations) {
    if (!operation.is_object()) {
      return BadRequest("an operation of a JSON patch must be an object");
    }
    RETURN_IF_ERROR(ApplyOne(result, operation.get_object(), copies));
  }
  target = std::move(result);
  return OkStatus();
}

}  // namespace kgpu::apiserver
