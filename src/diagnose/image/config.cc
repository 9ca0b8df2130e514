#include "src/diagnose/image/config.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::image {
namespace {

namespace json = boost::json;

// The field of a map, or null.
const json::value* Find(const json::value* value, std::string_view name) {
  const json::object* fields = value == nullptr ? nullptr : value->if_object();
  return fields == nullptr ? nullptr : fields->if_contains({name.data(), name.size()});
}

std::string TextOf(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

void ReadEnv(const json::value* value, ImageFacts& image) {
  const json::array* list = value == nullptr ? nullptr : value->if_array();
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (list->at(i).is_string()) {
      image.env.push_back(TextOf(&list->at(i)));
    }
  }
}

void ReadLabels(const json::value* value, ImageFacts& image) {
  const json::object* fields = value == nullptr ? nullptr : value->if_object();
  if (fields == nullptr) {
    return;
  }
  for (const auto& field : *fields) {
    if (field.value().is_string()) {
      image.labels.insert_or_assign(std::string(field.key().data(), field.key().size()),
                                    TextOf(&field.value()));
    }
  }
}

// The part that is the same for images, docker and podman, except for the case of names.
void ReadContainerPart(const json::value* config, ImageFacts& image) {
  ReadEnv(Find(config, "Env"), image);
  ReadLabels(Find(config, "Labels"), image);
}

StatusOr<json::value> ParseMap(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(json::value root,
                   doc::Parse(text, doc::Format::kJson, file, {.bytes = kConfigLimit}));
  if (!root.is_object()) {
    return InvalidArgument("{}: must be a map", file);
  }
  return root;
}

void AddFolders(const json::value* value, std::vector<std::string>& folders) {
  const std::string text = TextOf(value);
  for (const std::string_view folder : Split(text, ':')) {
    if (!folder.empty()) {
      folders.emplace_back(folder);
    }
  }
}

}  // namespace

Status ReadImageConfig(std::string_view text, std::string_view file, ImageFacts& image) {
  ASSIGN_OR_RETURN(const json::value root, ParseMap(text, file));
  image.architecture = TextOf(Find(&root, "architecture"));
  ReadContainerPart(Find(&root, "config"), image);
  return OkStatus();
}

StatusOr<std::string> ReadBundleConfig(std::string_view text, std::string_view file,
                                       ImageFacts& image) {
  ASSIGN_OR_RETURN(const json::value root, ParseMap(text, file));
  ReadEnv(Find(Find(&root, "process"), "env"), image);
  ReadLabels(Find(&root, "annotations"), image);
  std::string folder = TextOf(Find(Find(&root, "root"), "path"));
  if (folder.empty()) {
    return InvalidArgument("{}: root.path must name the container's root file system", file);
  }
  return folder;
}

bool IsBundleConfig(std::string_view text) {
  const auto root = ParseMap(text, "config.json");
  return root.ok() && !TextOf(Find(&*root, "ociVersion")).empty();
}

StatusOr<std::vector<std::string>> ReadInspect(std::string_view text, std::string_view file,
                                               ImageFacts& image) {
  ASSIGN_OR_RETURN(const json::value list,
                   doc::Parse(text, doc::Format::kJson, file, {.bytes = kConfigLimit}));
  const json::array* images = list.if_array();
  if (images == nullptr || images->empty() || !images->front().is_object()) {
    return InvalidArgument("{}: must be a list of images", file);
  }
  const json::value* root = &images->front();
  image.architecture = TextOf(Find(root, "Architecture"));
  ReadContainerPart(Find(root, "Config"), image);
  const json::value* data = Find(Find(root, "GraphDriver"), "Data");
  std::vector<std::string> folders;
  AddFolders(Find(data, "UpperDir"), folders);
  AddFolders(Find(data, "LowerDir"), folders);
  std::ranges::reverse(folders);
  return folders;
}

Status ReadCriImage(std::string_view text, std::string_view file, ImageFacts& image) {
  ASSIGN_OR_RETURN(const json::value root, ParseMap(text, file));
  const json::value* spec = Find(Find(&root, "info"), "imageSpec");
  if (spec == nullptr || !spec->is_object()) {
    return InvalidArgument("{}: info.imageSpec not found", file);
  }
  image.architecture = TextOf(Find(spec, "architecture"));
  ReadContainerPart(Find(spec, "config"), image);
  return OkStatus();
}

}  // namespace kgpu::image
