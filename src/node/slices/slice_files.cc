#include "src/node/slices/slice_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "src/node/slices/check_library.h"
#include "src/platform/base/mutex.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/selinux.h"
#include "src/preload/gate.h"

namespace kgpu::slices {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLibraryBytes = size_t{8} << 20;
// Programs of any user in the container write their share of the memory there.
constexpr mode_t kLedgerMode = 0666;

// An engine has made a folder where it found no file for a mount; a container may have written to
// it.
Status RemoveFolderAt(const std::string& path) {
  std::error_code error;
  if (fs::symlink_status(path, error).type() == fs::file_type::directory) {
    fs::remove_all(path, error);
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("remove the folder {}", path));
    }
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
    struct statvfs info = {};
    if (statvfs(options_.folder.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) != 0) {
      return FailedPrecondition(
          "{} is mounted with noexec, so that no program could load the library of memory limits "
          "from it: mount it without noexec",
          options_.folder);
    }
    return OkStatus();
  }

  Status CopyLibrary() const {
    if (options_.library.empty()) {
      return NoLibrary();
    }
    ASSIGN_OR_RETURN(const std::string bytes, root_.ReadFile(options_.library, kMaxLibraryBytes));
    RETURN_IF_ERROR(CheckLibrary(bytes, options_.library));
    constexpr mode_t kLibraryMode = 0755;
    return Keep(sharing::kLibraryName, bytes, sys::Durability::kDisk, kLibraryMode);
  }

  // Writes the file unless it has this content.
  Status Keep(std::string_view name, std::string_view bytes, sys::Durability durability,
              mode_t mode = 0644) const {
    const std::string path = fmt::format("{}/{}", options_.folder, name);
    const StatusOr<std::string> old = root_.ReadFile(path, bytes.size() + 1);
    if (!old.ok() || *old != bytes) {
      RETURN_IF_ERROR(RemoveFolderAt(path));
      RETURN_IF_ERROR(sys::WriteFileAtomically(path, bytes, mode, durability));
    }
    return Label(path);
  }

  // Without its label, the loader of a container would leave the library out, and say so to nobody.
  Status Label(const std::string& path) const {
    if (!options_.has_selinux) {
      return OkStatus();
    }
    std::array<char, 256> now{};
    const ssize_t size = lgetxattr(path.c_str(), sys::kSelinuxAttribute, now.data(), now.size());
    if (size > 0 &&
        std::string_view(now.data(), strnlen(now.data(), size)) == sys::kContainerLabel) {
      return OkStatus();
    }
    return sys::LabelForContainers(path);
  }

  // Of the slot's tenant, if it has one.
  Status KeepLedger(std::string_view name) const {
    const std::string path = fmt::format("{}/{}", options_.folder, name);
    RETURN_IF_ERROR(RemoveFolderAt(path));
    const UniqueFd file(
        open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kLedgerMode));
    if (!file.is_valid() && errno == EWOULDBLOCK) {
      return OkStatus();  // its container has a lease on it: fcntl(2)
    }
    if (!file.is_valid()) {
      return ErrnoStatus(errno, fmt::format("create {}", path));
    }
    RETURN_IF_ERROR(FillLedger(file.get(), path));
    return Label(path);
  }

  Status NewLedger(std::string_view name) const {
    const std::string path = fmt::format("{}/{}", options_.folder, name);
    const std::string fresh = fmt::format("{}/.{}.new", options_.folder, name);
    (void)unlink(fresh.c_str());  // of an agent that was killed
    Status made = MakeLedgerAt(fresh);
    made.Update(made.ok() ? RemoveFolderAt(path) : OkStatus());
    if (made.ok() && rename(fresh.c_str(), path.c_str()) != 0) {
      made = ErrnoStatus(errno, fmt::format("rename {} to {}", fresh, path));
    }
    if (!made.ok()) {
      (void)unlink(fresh.c_str());
    }
    return made;
  }

  // Written in place from now on: containers have mounted it. A file that is no gate is replaced;
  // one that cannot be read now stays, for it may be mapped.
  Status MakeGate(std::string_view name, const SliceSlot& slot) const {
    const std::string path = fmt::format("{}/{}", options_.folder, name);
    constexpr uint32_t kPercent = preload::kGateParts / 100;
    const preload::Gate fresh = preload::NewGate(
        {}, {.open = slot.compute * kPercent, .start = slot.compute_before * kPercent});
    preload::Gate now{};
    const StatusOr<std::string> old = root_.ReadFile(path, sizeof(now) + 1);
    if (old.ok() && old->size() == sizeof(now)) {
      memcpy(static_cast<void*>(&now), old->data(), sizeof(now));
    }
    std::error_code error;
    const bool is_missing =
        old.status().code() == StatusCode::kNotFound || fs::is_directory(path, error);
    if (!old.ok() && !is_missing) {
      return OkStatus();
    }
    if (now.magic != fresh.magic || now.version != fresh.version || now.fixed != fresh.fixed) {
      RETURN_IF_ERROR(RemoveFolderAt(path));
      RETURN_IF_ERROR(sys::WriteFileAtomically(
          path, std::string_view(reinterpret_cast<const char*>(&fresh), sizeof(fresh)), 0644,
          sys::Durability::kMemory));
    }
    return Label(path);
  }

  // Files of slots that are gone, the oldest beyond the limit. What is being written has a name
  // with a dot, and is no older than a minute.
  void RemoveOldest(const std::set<std::string>& current) const {
    std::vector<std::pair<fs::file_time_type, fs::path>> old;
    std::error_code error;
    for (fs::directory_iterator entry(options_.folder, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code unreadable;
      const auto time = entry->last_write_time(unreadable);
      const std::string name = entry->path().filename().string();
      const bool is_new = name.starts_with('.') &&
                          fs::file_time_type::clock::now() - time < std::chrono::minutes(1);
      if (!unreadable && !is_new && !current.contains(name)) {
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
  Status MakeLedgerAt(const std::string& path) const {
    const UniqueFd file(
        open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kLedgerMode));
    if (!file.is_valid()) {
      return ErrnoStatus(errno, fmt::format("create {}", path));
    }
    RETURN_IF_ERROR(FillLedger(file.get(), path));
    return Label(path);
  }

  // With its blocks on the disk: a program that writes to a hole of a full one would be killed.
  static Status FillLedger(int file, const std::string& path) {
    struct stat info = {};
    if (fstat(file, &info) != 0) {
      return ErrnoStatus(errno, fmt::format("stat {}", path));
    }
    // Not narrowed by the umask.
    if ((info.st_mode & 07777) != kLedgerMode && fchmod(file, kLedgerMode) != 0) {
      return ErrnoStatus(errno, fmt::format("set the mode of {}", path));
    }
    // The container can write to it; more than a ledger would fill the host's disk.
    const auto size = static_cast<size_t>(info.st_size);
    if (size > kLedgerBytes && ftruncate(file, kLedgerBytes) != 0) {
      return ErrnoStatus(errno, fmt::format("shorten {}", path));
    }
    constexpr size_t kBlock = 512;
    const bool has_holes = static_cast<size_t>(info.st_blocks) * kBlock < kLedgerBytes;
    const int error = size < kLedgerBytes || has_holes ? posix_fallocate(file, 0, kLedgerBytes) : 0;
    return error == 0
               ? OkStatus()
               : ErrnoStatus(error, fmt::format("reserve {} bytes for {}", kLedgerBytes, path));
  }

  const SliceFilesOptions& options_;
  const sys::Root& root_;
};

// By slot: the sum of the shares of the device's slots before it.
std::map<std::string_view, unsigned> ComputeBefore(const pools::Assignment& assignment) {
  std::map<std::string_view, std::map<unsigned, const pools::Slot*>> devices;  // by replica
  for (const pools::Resource& resource : assignment.resources) {
    for (const pools::Slot& slot : resource.slots) {
      devices[slot.device_uuid].emplace(slot.replica, &slot);
    }
  }
  std::map<std::string_view, unsigned> before;
  for (const auto& [device, slots] : devices) {
    unsigned sum = 0;
    for (const auto& [replica, slot] : slots) {
      before[slot->id] = sum;
      sum += slot->compute;
    }
  }
  return before;
}

}  // namespace

std::vector<SliceSlot> SlicesOf(const pools::Assignment& assignment) {
  const std::map<std::string_view, unsigned> before = ComputeBefore(assignment);
  std::vector<SliceSlot> slots;
  for (const pools::Resource& resource : assignment.resources) {
    for (const pools::Slot& slot : resource.slots) {
      if (slot.memory) {
        slots.push_back({.id = slot.id,
                         .device_uuid = slot.device_uuid,
                         .memory = *slot.memory,
                         .share = resource.share,
                         .compute = slot.compute,
                         .compute_before = slot.compute == 0 ? 0 : before.at(slot.id)});
      }
    }
  }
  return slots;
}

std::string LimitsText(const SliceSlot& slot) {
  return fmt::format("version 1\ndevice {}\nmemory {}\ncontext {}\npinned {}\nunknown {}\n{}",
                     slot.device_uuid, slot.memory.count, slot.share.context.count,
                     slot.share.counts_pinned ? 1 : 0,
                     slot.share.unknown == sharing::UnknownApi::kFlag ? "flag" : "refuse",
                     slot.compute == 0 ? "" : fmt::format("compute {}\n", slot.compute));
}

Status NoLibrary() {
  return NotFound(
      "libkgpu-share.so is missing in ../lib/kgpu beside kgpu's folder: install it there, or name "
      "it with --share-library, and restart the agent; or set share.by: time");
}

StatusOr<sharing::SlicePaths> WriteSliceFiles(const SliceFilesOptions& options,
                                              const std::vector<SliceSlot>& slots,
                                              const std::set<std::string>& new_tenants) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  const SliceWriter writer(options, root);
  RETURN_IF_ERROR(writer.MakeFolder());
  RETURN_IF_ERROR(writer.CopyLibrary());
  RETURN_IF_ERROR(writer.Keep(sharing::kPreloadName,
                              fmt::format("{}\n", sharing::kContainerLibrary),
                              sys::Durability::kDisk));
  std::set<std::string> current = {std::string(sharing::kLibraryName),
                                   std::string(sharing::kPreloadName)};
  for (const SliceSlot& slot : slots) {
    const std::string limits = sharing::FileOfSlot(slot.id, sharing::kLimitsName);
    const std::string ledger = sharing::FileOfSlot(slot.id, sharing::kLedgerName);
    RETURN_IF_ERROR(writer.Keep(limits, LimitsText(slot), sys::Durability::kMemory));
    RETURN_IF_ERROR(new_tenants.contains(slot.id) ? writer.NewLedger(ledger)
                                                  : writer.KeepLedger(ledger));
    current.insert({limits, ledger});
    if (slot.compute != 0) {
      const std::string gate = sharing::FileOfSlot(slot.id, sharing::kGateName);
      RETURN_IF_ERROR(writer.MakeGate(gate, slot));
      current.insert(gate);
    }
  }
  writer.RemoveOldest(current);
  return sharing::SlicePaths{.folder = options.engine_folder};
}

Status RenewLedgers(const SliceFilesOptions& options, std::span<const std::string> slot_ids) {
  static Mutex mutex;  // two calls for one slot
  const MutexLock lock(mutex);
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  const SliceWriter writer(options, root);
  for (const std::string& id : slot_ids) {
    RETURN_IF_ERROR(writer.NewLedger(sharing::FileOfSlot(id, sharing::kLedgerName)));
  }
  return OkStatus();
}

}  // namespace kgpu::slices
