#include "testing/apiserver/view.h"

#include <boost/json.hpp>

#include "src/platform/base/strings.h"
#include "testing/apiserver/event_form.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

json::object MetadataOnly(const json::object& object) {
  json::object partial = {{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}};
  if (const json::value* metadata = object.if_contains("metadata"); metadata != nullptr) {
    partial["metadata"] = *metadata;
  }
  return partial;
}

json::array ListItems(const Resource& resource, const std::vector<StoredPtr>& items,
                      const View& view) {
  json::array list;
  list.reserve(items.size());
  for (const StoredPtr& item : items) {
    if (view.shape == Shape::kMetadata) {
      list.push_back(MetadataOnly(item->object()));
      continue;
    }
    json::object shown = ToExternal(resource, item->object());
    if (!resource.is_custom) {
      // Real servers leave them out of lists of built-in kinds.
      shown.erase("kind");
      shown.erase("apiVersion");
    }
    list.push_back(std::move(shown));
  }
  return list;
}

}  // namespace

View ViewOf(std::string_view accept, std::string_view include_object, int64_t now) {
  View view{.now = now};
  view.row_object = include_object == "Object" ? RowObject::kWhole
                    : include_object == "None" ? RowObject::kNone
                                               : RowObject::kMetadata;
  for (const std::string_view one : Split(accept, ',')) {
    const bool is_v1 = one.find("g=meta.k8s.io") != std::string_view::npos &&
                       one.find("v=v1beta1") == std::string_view::npos;
    if (!one.empty() && Trim(one).starts_with("application/json")) {
      if (one.find("as=") == std::string_view::npos) {
        return view;
      }
      if (is_v1 && one.find("as=Table") != std::string_view::npos) {
        view.shape = Shape::kTable;
        return view;
      }
      if (is_v1 && one.find("as=PartialObjectMetadata") != std::string_view::npos) {
        view.shape = Shape::kMetadata;
        return view;
      }
    }
  }
  return view;
}

std::string ShowObject(const Resource& resource, const Stored& object, const View& view) {
  if (view.shape == Shape::kTable) {
    const auto whole = std::make_shared<const Stored>(object.object(), object.revision());
    const json::object metadata = {
        {"resourceVersion", TextAt(object.object(), {"metadata", "resourceVersion"})}};
    return json::serialize(MakeTable(resource, {whole}, metadata, view));
  }
  if (view.shape == Shape::kMetadata) {
    return json::serialize(MetadataOnly(object.object()));
  }
  const bool is_as_kept = resource.form == StoredForm::kAsIs &&
                          TextAt(object.object(), {"apiVersion"}) == resource.ApiVersion();
  return is_as_kept ? object.Text() : json::serialize(ToExternal(resource, object.object()));
}

std::string ShowList(const Resource& resource, const std::vector<StoredPtr>& items,
                     const json::object& list_metadata, const View& view) {
  if (view.shape == Shape::kTable) {
    return json::serialize(MakeTable(resource, items, list_metadata, view));
  }
  const bool is_partial = view.shape == Shape::kMetadata;
  return json::serialize(
      json::object{{"kind", is_partial ? "PartialObjectMetadataList" : resource.ListKind()},
                   {"apiVersion", is_partial ? "meta.k8s.io/v1" : resource.ApiVersion()},
                   {"metadata", list_metadata},
                   {"items", ListItems(resource, items, view)}});
}

std::string ShowBookmark(const Resource& resource, uint64_t revision, bool ends_initial,
                         const View& view) {
  json::object metadata = {{"resourceVersion", std::to_string(revision)},
                           {"creationTimestamp", nullptr}};
  if (ends_initial) {
    metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  }
  if (view.shape == Shape::kTable) {
    return json::serialize(MakeTable(resource, {}, metadata, view));
  }
  const bool is_partial = view.shape == Shape::kMetadata;
  return json::serialize(
      json::object{{"kind", is_partial ? "PartialObjectMetadata" : resource.kind},
                   {"apiVersion", is_partial ? "meta.k8s.io/v1" : resource.ApiVersion()},
                   {"metadata", std::move(metadata)}});
}

}  // namespace kgpu::apiserver
