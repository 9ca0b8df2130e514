#include "src/kube/objects/manifests.h"

#include <map>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/located.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

struct Document {
  std::string text;
  size_t lines_before = 0;
};

bool IsMarker(std::string_view line) {
  const bool is_mark = line.starts_with("---") || line.starts_with("...");
  return is_mark && (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
}

// Splits at lines that begin with "---" or "...": YAML allows none within a document.
std::vector<Document> DocumentsOf(std::string_view text) {
  std::vector<Document> documents(1);
  size_t line_number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    if (IsMarker(line)) {
      // What follows "--- " on its line belongs to the document that begins there.
      documents.push_back(
          {.text = fmt::format("   {}\n", line.substr(3)), .lines_before = line_number});
    } else {
      documents.back().text.append(line).append("\n");
    }
    ++line_number;
  }
  return documents;
}

StatusOr<doc::Located> ParseDocument(const Document& document, std::string_view file) {
  const doc::Format format =
      Trim(document.text).starts_with('{') ? doc::Format::kJson : doc::Format::kYaml;
  StatusOr<doc::Located> located = doc::ParseLocated(document.text, format, file);
  if (!located.ok() && format == doc::Format::kJson) {
    // A map in YAML's flow style begins like JSON.
    if (auto yaml = doc::ParseLocated(document.text, doc::Format::kYaml, file); yaml.ok()) {
      return yaml;
    }
  }
  if (!located.ok() && document.lines_before > 0) {
    // Again, for an error with the line of the whole file.
    const std::string whole = std::string(document.lines_before, '\n') + document.text;
    return doc::ParseLocated(whole, format, file);
  }
  return located;
}

class Collector {
 public:
  explicit Collector(std::string_view file) : file_(file) {}

  Status Add(json::value object, size_t line) {
    const std::string where = fmt::format("{}:{}", file_, line);
    if (!object.is_object()) {
      return InvalidArgument("{}: must be an object with apiVersion, kind and metadata.name",
                             where);
    }
    const json::value* items = FindField(object, {"items"});
    if (items != nullptr && items->is_array() && TextField(object, {"kind"}).ends_with("List")) {
      for (const json::value& item : items->get_array()) {
        RETURN_IF_ERROR(Add(item, line));
      }
      return OkStatus();
    }
    const ObjectRef ref = RefOf(object);
    for (const auto& [field, value] :
         {std::pair("apiVersion", &ref.api_version), std::pair("kind", &ref.kind),
          std::pair("metadata.name", &ref.name)}) {
      if (value->empty()) {
        return InvalidArgument("{}: {}: must be set", where, field);
      }
    }
    const auto [first, is_new] = seen_.emplace(ref, where);
    if (!is_new) {
      return InvalidArgument("{}: {}: is also at {}: remove one", where, TextOf(ref),
                             first->second);
    }
    objects_.push_back({.object = std::move(object), .where = where});
    return OkStatus();
  }

  std::vector<ManifestObject> Take() { return std::move(objects_); }

 private:
  std::string_view file_;
  std::map<ObjectRef, std::string> seen_;
  std::vector<ManifestObject> objects_;
};

}  // namespace

StatusOr<std::vector<ManifestObject>> ParseManifests(std::string_view text, std::string_view file) {
  Collector collector(file);
  for (const Document& document : DocumentsOf(text)) {
    ASSIGN_OR_RETURN(doc::Located located, ParseDocument(document, file));
    if (!located.root.is_null()) {
      RETURN_IF_ERROR(
          collector.Add(std::move(located.root), document.lines_before + located.place.value.line));
    }
  }
  return collector.Take();
}

}  // namespace kgpu::kube
