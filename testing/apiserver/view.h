// How objects are returned: complete, as table rows, or only their metadata.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "testing/apiserver/resource.h"
#include "testing/apiserver/store.h"

namespace kgpu::apiserver {

enum class Shape : uint8_t { kWhole, kTable, kMetadata };
// How much of the objects table rows contain.
enum class RowObject : uint8_t { kNone, kMetadata, kWhole };

struct View {
  Shape shape = Shape::kWhole;
  RowObject row_object = RowObject::kMetadata;
  int64_t now = 0;  // seconds since 1970, for ages
};

// From the Accept header and includeObject of a request: the first form that we support.
View ViewOf(std::string_view accept, std::string_view include_object, int64_t now);

// JSON texts.
std::string ShowObject(const Resource& resource, const Stored& object, const View& view);
std::string ShowList(const Resource& resource, const std::vector<StoredPtr>& items,
                     const boost::json::object& list_metadata, const View& view);
// A bookmark's object: kind and version only.
std::string ShowBookmark(const Resource& resource, uint64_t revision, bool ends_initial,
                         const View& view);

// A meta.k8s.io/v1 Table.
boost::json::object MakeTable(const Resource& resource, const std::vector<StoredPtr>& items,
                              const boost::json::object& list_metadata, const View& view);

}  // namespace kgpu::apiserver
