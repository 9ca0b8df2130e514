#include "src/diagnose/manifest/draft.h"

#include <boost/json.hpp>

#include <optional>
#include <utility>

#include "src/diagnose/manifest/old_yaml.h"
#include "src/diagnose/manifest/splice.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

// What doc::Print writes for a document in which the change cannot be made.
constexpr std::string_view kName = "document";

bool RemoveAt(json::value& root, const Path& path) {
  json::value* parent = Find(root, path.Parent());
  const Step& step = path.last();
  if (json::array* list = parent == nullptr ? nullptr : parent->if_array();
      list != nullptr && step.is_index) {
    list->erase(list->begin() + static_cast<ptrdiff_t>(step.index));
    return true;
  }
  json::object* fields = parent == nullptr ? nullptr : parent->if_object();
  if (fields == nullptr || step.is_index) {
    return false;
  }
  // Not erase(), which would put the last field in its place.
  return fields->stable_erase(step.key) > 0;
}

// The widest path to remove so that `path` is gone and no empty map or list stays.
Path WidestEmptied(const json::value& root, Path path) {
  while (path.steps().size() > 1) {
    const json::value* parent = Find(root, path.Parent());
    const bool is_last = (parent->is_array() && parent->get_array().size() == 1) ||
                         (parent->is_object() && parent->get_object().size() == 1);
    if (!is_last) {
      break;
    }
    path = path.Parent();
  }
  return path;
}

bool RenameAt(json::value& root, const Path& path, const std::string& key) {
  json::value* parent = Find(root, path.Parent());
  json::object* fields = parent == nullptr ? nullptr : parent->if_object();
  if (fields == nullptr || path.last().is_index || fields->contains(key)) {
    return false;
  }
  json::object renamed;
  for (auto& field : *fields) {
    const bool is_meant =
        std::string_view(field.key().data(), field.key().size()) == path.last().key;
    renamed.emplace(is_meant ? json::string_view(key.data(), key.size()) : field.key(),
                    std::move(field.value()));
  }
  *fields = std::move(renamed);
  return true;
}

bool SetAt(json::value& root, const Path& path, const json::value& value) {
  if (json::value* old = Find(root, path); old != nullptr) {
    *old = value;
    return true;
  }
  json::value* parent = Find(root, path.Parent());
  json::object* fields = parent == nullptr ? nullptr : parent->if_object();
  if (fields == nullptr || path.last().is_index) {
    return false;
  }
  fields->emplace(path.last().key, value);
  return true;
}

bool Do(json::value& root, const Change& change) {
  switch (change.kind) {
    case Change::Kind::kSet:
      return SetAt(root, change.path, change.value);
    case Change::Kind::kRename:
      return Find(root, change.path) != nullptr && RenameAt(root, change.path, change.key);
    case Change::Kind::kRemove:
      break;
  }
  return RemoveAt(root, change.path);
}

}  // namespace

StatusOr<Draft> Draft::Parse(std::string text, std::string_view file) {
  ASSIGN_OR_RETURN(doc::Located located, doc::ParseLocated(text, doc::Format::kYaml, file));
  const bool is_json =
      Trim(text).starts_with('{') && doc::Parse(text, doc::Format::kJson, file).ok();
  return Draft(std::move(text), std::move(located), is_json);
}

bool Draft::Apply(const Change& asked) {
  Change change = asked;
  if (change.path.empty()) {
    return false;
  }
  if (change.kind == Change::Kind::kRemove) {
    if (Find(located_.root, change.path) == nullptr) {
      return false;
    }
    change.path = WidestEmptied(located_.root, change.path);
  }
  json::value wanted = located_.root;
  if (!Do(wanted, change) || wanted == located_.root) {
    return false;
  }
  // What is moved is printed again, too.
  const bool prints_more = change.kind == Change::Kind::kSet && change.value.is_structured();
  if (prints_more && HasOldYaml(text_, located_)) {
    return false;
  }
  return ApplyInText({&change, 1}, wanted) || PrintAgain(wanted);
}

bool Draft::ApplyWords(std::span<const Change> changes) {
  json::value wanted = located_.root;
  for (const Change& change : changes) {
    if (!Do(wanted, change)) {
      return false;
    }
  }
  return !changes.empty() && ApplyInText(changes, wanted);
}

// A scalar ends elsewhere within brackets: which of the two it is, the result proves.
bool Draft::ApplyInText(std::span<const Change> changes, const json::value& wanted) {
  for (const bool is_within_brackets : {false, true}) {
    std::optional<std::string> spliced = Splice(text_, located_, changes, is_within_brackets);
    if (!spliced) {
      continue;
    }
    auto parsed = doc::ParseLocated(*spliced, doc::Format::kYaml, kName);
    if (parsed.ok() && parsed->root == wanted) {
      text_ = *std::move(spliced);
      located_ = *std::move(parsed);
      return true;
    }
  }
  return false;
}

bool Draft::PrintAgain(const json::value& wanted) {
  if (!is_json_ && HasOldYaml(text_, located_)) {
    return false;
  }
  std::string printed = doc::Print(wanted, is_json_ ? doc::Format::kJson : doc::Format::kYaml);
  auto parsed = doc::ParseLocated(printed, doc::Format::kYaml, kName);
  if (!parsed.ok()) {
    return false;
  }
  text_ = std::move(printed);
  located_ = *std::move(parsed);
  is_reprinted_ = !is_json_;  // JSON has no comments to lose
  return true;
}

}  // namespace kgpu::manifest
