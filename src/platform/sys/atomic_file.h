// Replaces a file as a whole: readers see the old bytes or the new ones, even after a crash or on a
// full disk. Temporary file in the same folder, fsync, rename, fsync of the folder. The next
// replacement of a file removes temporary files of processes that were killed: they have known
// names, so that the costs do not depend on how many files the folder has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// What survives a power cut: kDisk: the new file (costs milliseconds); kMemory: nothing for
// certain, for files that each boot makes again.
enum class Durability : uint8_t { kDisk, kMemory };

class AtomicFile {
 public:
  // Starts a replacement of `path` (absolute or relative to the working folder) with permission
  // bits `mode`. Nothing at `path` changes before Commit.
  // Errors: NotFound (no such folder), PermissionDenied, FailedPrecondition (read-only file
  // system), ResourceExhausted (full).
  static StatusOr<AtomicFile> Create(std::string path, mode_t mode = 0644);

  AtomicFile(AtomicFile&&) = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  // Removes the temporary file when Commit did not run or failed.
  ~AtomicFile();

  Status Write(std::string_view bytes);
  // Where the new bytes are before Commit, for checks by other programs.
  const std::string& temporary_path() const { return temporary_; }
  Status Commit(Durability durability = Durability::kDisk);

 private:
  AtomicFile(std::string path, std::string temporary, UniqueFd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

  std::string path_;
  std::string temporary_;  // empty once committed or moved from
  UniqueFd fd_;
};

// Removes temporary files of `path` that killed processes left. Living processes hold a lock on
// theirs. Not found are those of file systems without locks.
void RemoveLeftovers(const std::string& path);

// Makes the names in the folder survive a power cut. Errors: those of open(2) and fsync(2).
Status SyncFolder(const std::string& folder);

// Create, Write, Commit in one call.
Status WriteFileAtomically(const std::string& path, std::string_view bytes, mode_t mode = 0644,
                           Durability durability = Durability::kDisk);

}  // namespace kgpu::sys
