#include "src/node/share/slice_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "src/platform/base/stable_hash.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::share {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLibraryBytes = size_t{8} << 20;
// Programs of any user in the container write their share of the memory there.
constexpr mode_t kLedgerMode = 0666;

// An engine has made a folder where it found no file for a mount.
Status RemoveFolderAt(const std::string& path) {
  if (rmdir(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
    return ErrnoStatus(errno, fmt::format("remove the folder {}", path));
  }
  return OkStatus();
}

class SliceWriter {
 public:
  SliceWriter(const SliceFilesOptions& options, const sys::Root& root)
      : options_(options), root_(root) {}

  Status MakeFolder() const {
    std::error_code error;
    fs::create_directories(options_.folder, error);
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("create {}", options_.folder));
    }
    struct statvfs info{};
    if (statvfs(options_.folder.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) != 0) {
      return FailedPrecondition(
          "{} is mounted with noexec, so that no program could load the library of memory limits "
          "from it: mount it without noexec",
          options_.folder);
    }
    return OkStatus();
  }

  StatusOr<std::string> CopyLibrary() const {
    if (options_.library.empty()) {
      return NotFound(
          "libkgpu-share.so is missing in ../lib/kgpu beside kgpu's folder: install it there, name "
          "it "
          "with --share-library, or set share.by: time");
    }
    ASSIGN_OR_RETURN(const std::string bytes, root_.ReadFile(options_.library, kMaxLibraryBytes));
    std::string name = fmt::format("libkgpu-share-{:016x}.so", StableHash(bytes));
    constexpr mode_t kLibraryMode = 0755;
    RETURN_IF_ERROR(Keep(name, bytes, kLibraryMode));
    return name;
  }

  // Writes the file unless it has this content.
  Status Keep(std::string_view name, std::string_view bytes, mode_t mode = 0644) const {
    const std::string path = fmt::format("{}/{}", options_.folder, name);
    const StatusOr<std::string> old = root_.ReadFile(path, bytes.size() + 1);
    if (old.ok() && *old == bytes) {
      return OkStatus();
    }
    RETURN_IF_ERROR(RemoveFolderAt(path));
    return sys::WriteFileAtomically(path, bytes, mode);
  }

  // With its blocks on the disk: a program that writes to a hole of a full one would be killed.
  Status MakeLedger(std::string_view name) const {
    const std::string path = fmt::format("{}/{}", options_.folder, name);
    RETURN_IF_ERROR(RemoveFolderAt(path));
    const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kLedgerMode));
    if (!file.is_valid()) {
      return ErrnoStatus(errno, fmt::format("create {}", path));
    }
    // Not narrowed by the umask.
    if (fchmod(file.get(), kLedgerMode) != 0) {
      return ErrnoStatus(errno, fmt::format("set the mode of {}", path));
    }
    // The container can write to it; more than a ledger would fill the host's disk.
    struct stat info{};
    if (fstat(file.get(), &info) == 0 && static_cast<size_t>(info.st_size) > kLedgerBytes &&
        ftruncate(file.get(), kLedgerBytes) != 0) {
      return ErrnoStatus(errno, fmt::format("shorten {}", path));
    }
    if (const int error = posix_fallocate(file.get(), 0, kLedgerBytes); error != 0) {
      return ErrnoStatus(error, fmt::format("reserve {} bytes for {}", kLedgerBytes, path));
    }
    return OkStatus();
  }

  // Files of slots that are gone, the oldest beyond the limit.
  void RemoveOldest(const std::set<std::string>& current) const {
    std::vector<std::pair<fs::file_time_type, fs::path>> old;
    std::error_code error;
    for (fs::directory_iterator entry(options_.folder, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code unreadable;
      const auto time = entry->last_write_time(unreadable);
      if (!unreadable && !current.contains(entry->path().filename().string())) {
        old.emplace_back(time, entry->path());
      }
    }
    if (old.size() <= options_.most_kept) {
      return;
    }
    std::ranges::sort(old);
    old.resize(old.size() - options_.most_kept);
    for (const auto& [time, path] : old) {
      (void)unlink(path.c_str());
    }
  }

 private:
  const SliceFilesOptions& options_;
  const sys::Root& root_;
};

}  // namespace

std::vector<SliceSlot> SlicesOf(const pools::Assignment& assignment) {
  std::vector<SliceSlot> slots;
  for (const pools::Resource& resource : assignment.resources) {
    for (const pools::Slot& slot : resource.slots) {
      if (slot.memory) {
        slots.push_back({.id = slot.id,
                         .device_uuid = slot.device_uuid,
                         .memory = *slot.memory,
                         .share = resource.share});
      }
    }
  }
  return slots;
}

std::string LimitsText(const SliceSlot& slot) {
  return fmt::format("version 1\ndevice {}\nmemory {}\ncontext {}\npinned {}\nunknown {}\n",
                     slot.device_uuid, slot.memory.count, slot.share.context.count,
                     slot.share.counts_pinned ? 1 : 0,
                     slot.share.unknown == config::UnknownApi::kFlag ? "flag" : "refuse");
}

StatusOr<SlicePaths> WriteSliceFiles(const SliceFilesOptions& options,
                                     const std::vector<SliceSlot>& slots) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  const SliceWriter writer(options, root);
  RETURN_IF_ERROR(writer.MakeFolder());
  SlicePaths paths{.folder = options.engine_folder, .library = {}};
  ASSIGN_OR_RETURN(paths.library, writer.CopyLibrary());
  RETURN_IF_ERROR(writer.Keep(kPreloadName, fmt::format("{}\n", kContainerLibrary)));
  std::set<std::string> current = {paths.library, std::string(kPreloadName)};
  for (const SliceSlot& slot : slots) {
    const std::string limits = FileOfSlot(slot.id, kLimitsName);
    const std::string ledger = FileOfSlot(slot.id, kLedgerName);
    RETURN_IF_ERROR(writer.Keep(limits, LimitsText(slot)));
    RETURN_IF_ERROR(writer.MakeLedger(ledger));
    current.insert({limits, ledger});
  }
  writer.RemoveOldest(current);
  return paths;
}

}  // namespace kgpu::share
