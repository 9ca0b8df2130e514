#include "src/diagnose/image/layers.h"

#include "src/diagnose/image/tar.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/compress/unpack.h"

namespace kgpu::image {
namespace {

// Source: the OCI image specification, "Layers", "Whiteouts".
constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view NameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

void LibraryCollector::See(std::string_view path) {
  CudaLibrary library;
  if (path.size() <= kPathLimit && found_.size() + layer_.size() < kLibraryLimit &&
      ReadLibraryPath(path, library)) {
    std::string key = library.path;
    layer_.insert_or_assign(std::move(key), std::move(library));
  }
}

void LibraryCollector::Hide(std::string_view path) {
  if (path.empty()) {
    found_.clear();
    return;
  }
  if (found_.empty()) {
    return;
  }
  if (const auto same = found_.find(path); same != found_.end()) {
    found_.erase(same);
  }
  constexpr char kAfterSlash = '/' + 1;
  found_.erase(found_.lower_bound(fmt::format("{}/", path)),
               found_.lower_bound(fmt::format("{}{}", path, kAfterSlash)));
}

void LibraryCollector::SeeEntry(std::string_view path) {
  const std::string_view name = NameOf(path);
  if (name == kOpaque) {
    Hide(FolderOf(path));
  } else if (name.starts_with(kWhiteout)) {
    const std::string_view folder = FolderOf(path);
    const std::string_view hidden = name.substr(kWhiteout.size());
    Hide(folder.empty() ? std::string(hidden) : fmt::format("{}/{}", folder, hidden));
  } else {
    See(path);
  }
}

void LibraryCollector::EndLayer() {
  for (auto& [path, library] : layer_) {
    found_.insert_or_assign(path, std::move(library));
  }
  layer_.clear();
}

std::vector<CudaLibrary> LibraryCollector::Take() {
  std::vector<CudaLibrary> libraries;
  libraries.reserve(found_.size());
  for (auto& [path, library] : found_) {
    libraries.push_back(std::move(library));
  }
  found_.clear();
  return libraries;
}

Status ReadLayer(std::unique_ptr<compress::ByteSource> layer, LibraryCollector& collector) {
  Budget& budget = collector.budget();
  ASSIGN_OR_RETURN(const std::unique_ptr<compress::ByteSource> bytes,
                   compress::Unpack(std::move(layer), budget.bytes));
  TarReader reader(*bytes);
  TarEntry entry;
  for (; budget.entries > 0; --budget.entries) {
    const StatusOr<bool> next = reader.Next(entry);
    if (!next.ok() || !*next) {
      collector.EndLayer();
      return next.status();
    }
    collector.SeeEntry(entry.path);
  }
  collector.EndLayer();
  return OutOfRange("the image has too many files to check");
}

}  // namespace kgpu::image
