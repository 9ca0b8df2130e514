// ReadLayerFolder of layers.h.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/diagnose/image/layers.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::image {
namespace {

// Not of the image, or what packages pass through on their way: no library is used from there, and
// parts are closed to all but one user.
constexpr std::array<std::string_view, 5> kLeftOut = {"proc", "sys", "dev", "var/cache",
                                                      "var/lib/apt"};

class FolderReader {
 public:
  FolderReader(const sys::Root& root, const std::string& folder, LibraryCollector& collector)
      : root_(root), folder_(folder), collector_(collector) {}

  StatusOr<size_t> Read() {
    ASSIGN_OR_RETURN(const struct stat top, root_.Stat(folder_));
    device_ = top.st_dev;
    RETURN_IF_ERROR(Folder(""));
    while (!folders_.empty() && collector_.budget().entries > 0) {
      const std::string at = std::move(folders_.back());
      folders_.pop_back();
      unread_ += Folder(at).ok() ? 0 : 1;
    }
    collector_.EndLayer();
    if (!folders_.empty()) {
      return OutOfRange("the image has too many files to check");
    }
    return unread_;
  }

 private:
  std::string Whole(std::string_view path) const { return fmt::format("{}/{}", folder_, path); }

  Status Folder(const std::string& at) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, root_.ListDir(Whole(at)));
    if (collector_.has_lower() && IsOpaque(at)) {
      collector_.Hide(at);
    }
    size_t& left = collector_.budget().entries;
    for (const std::string& name : names) {
      if (left == 0) {
        break;
      }
      --left;
      Entry(at.empty() ? name : fmt::format("{}/{}", at, name));
    }
    return OkStatus();
  }

  void Entry(const std::string& path) {
    const auto stat = root_.LinkStat(Whole(path));
    if (!stat.ok()) {
      return;
    }
    if (S_ISCHR(stat->st_mode) && stat->st_rdev == makedev(0, 0)) {
      collector_.Hide(path);
      return;
    }
    collector_.SeeEntry(path);
    if (S_ISDIR(stat->st_mode) && stat->st_dev == device_ &&
        std::ranges::find(kLeftOut, path) == kLeftOut.end()) {
      folders_.push_back(path);
    }
  }

  // Source: Linux' documentation of overlayfs, "whiteouts and opaque directories"; fuse-overlayfs.
  bool IsOpaque(const std::string& at) const {
    const auto folder = root_.OpenFile(Whole(at), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!folder.ok()) {
      return false;
    }
    for (const char* name :
         {"trusted.overlay.opaque", "user.overlay.opaque", "user.fuseoverlayfs.opaque"}) {
      char value = 0;
      if (fgetxattr(folder->get(), name, &value, 1) == 1 && value == 'y') {
        return true;
      }
    }
    return false;
  }

  const sys::Root& root_;
  const std::string& folder_;
  LibraryCollector& collector_;
  dev_t device_ = 0;
  std::vector<std::string> folders_;  // to be read, below `folder_`
  size_t unread_ = 0;
};

}  // namespace

StatusOr<size_t> ReadLayerFolder(const sys::Root& root, const std::string& folder,
                                 LibraryCollector& collector) {
  return FolderReader(root, folder, collector).Read();
}

}  // namespace kgpu::image
