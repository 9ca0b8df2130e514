#include "src/image/layers.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <utility>

#include "src/base/status_macros.h"
#include "src/image/tar.h"

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

std::string InFolder(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

void SeeEntry(std::string_view path, LibraryCollector& collector) {
  const std::string_view name = NameOf(path);
  if (name == kOpaque) {
    collector.Hide(FolderOf(path));
  } else if (name.starts_with(kWhiteout)) {
    collector.Hide(InFolder(FolderOf(path), name.substr(kWhiteout.size())));
  } else {
    collector.See(path);
  }
}

Status TooMany() {
  return OutOfRange("more than {} files: the rest was not looked at", kEntryLimit);
}

}  // namespace

void LibraryCollector::See(std::string_view path) {
  CudaLibrary library;
  if (ReadLibraryPath(path, library)) {
    layer_.insert_or_assign(library.path, library);
  }
}

void LibraryCollector::Hide(std::string_view path) {
  // Most layers hide nothing that is of interest.
  if (!found_.empty()) {
    hidden_.emplace(path);
  }
}

void LibraryCollector::EndLayer() {
  const auto is_hidden = [this](std::string_view path) {
    for (; !path.empty(); path = FolderOf(path)) {
      if (hidden_.contains(path)) {
        return true;
      }
    }
    return hidden_.contains("");
  };
  std::erase_if(found_, [&is_hidden](const auto& entry) { return is_hidden(entry.first); });
  for (auto& [path, library] : layer_) {
    found_.insert_or_assign(path, std::move(library));
  }
  layer_.clear();
  hidden_.clear();
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

Status ReadLayer(std::unique_ptr<ByteSource> layer, LibraryCollector& collector) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> bytes,
                   Unpack(std::move(layer), kLayerByteLimit));
  TarReader reader(*bytes);
  TarEntry entry;
  Status status;
  for (size_t i = 0; i < kEntryLimit; ++i) {
    const StatusOr<bool> next = reader.Next(entry);
    if (!next.ok() || !*next) {
      collector.EndLayer();
      return next.status();
    }
    SeeEntry(entry.path, collector);
  }
  collector.EndLayer();
  return TooMany();
}

Status ReadLayerFolder(const sys::Root& root, const std::string& folder,
                       LibraryCollector& collector) {
  std::vector<std::string> folders = {""};  // to be read, below `folder`
  size_t seen = 0;
  Status status;
  while (!folders.empty() && seen < kEntryLimit) {
    const std::string at = std::move(folders.back());
    folders.pop_back();
    const auto names = root.ListDir(fmt::format("{}/{}", folder, at));
    if (!names.ok()) {
      status.Update(names.status());
      continue;
    }
    for (const std::string& name : *names) {
      ++seen;
      const std::string path = InFolder(at, name);
      const auto stat = root.LinkStat(fmt::format("{}/{}", folder, path));
      if (!stat.ok()) {
        continue;
      }
      if (S_ISCHR(stat->st_mode) && stat->st_rdev == makedev(0, 0)) {
        collector.Hide(path);
      } else {
        collector.See(path);
      }
      if (S_ISDIR(stat->st_mode)) {
        folders.push_back(path);
      }
    }
  }
  collector.EndLayer();
  return folders.empty() ? status : TooMany();
}

}  // namespace kgpu::image
