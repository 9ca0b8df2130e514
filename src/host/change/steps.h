// Files and links to write, change or remove: values that are planned and printed, then
// applied, and reverted if a later one fails. Applying again after a kill skips what is already
// done.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

struct FileStep {
  std::string path;                   // below the host's root; a link there stays one
  std::optional<std::string> before;  // empty: did not exist
  std::optional<std::string> after;   // empty: will be removed
  mode_t mode = 0644;                 // of a file that is new, or will be removed
};

struct LinkStep {
  std::string path;    // below the host's root
  std::string target;  // as stored in the link
  bool is_removal = false;
};

// The steps of one run over a host, in order.
class Steps {
 public:
  Steps(const sys::Root& host, Disk& disk) : host_(host), disk_(disk) {}

  void Add(FileStep file) { files_.push_back(std::move(file)); }
  void Add(LinkStep link) { links_.push_back(std::move(link)); }

  // Folders that must be created first, outermost first.
  std::vector<std::string> MissingFolders() const;
  // Creates `folders`, then the files, then the links; appends what it did to `done`. Skips what is
  // already done. After an error, earlier steps stay. Errors: Unavailable (a file is neither as
  // before nor as after), and those of the disk.
  Status Do(std::span<const std::string> folders, std::vector<std::string>& done);
  // Reverts what was done, last step first; continues after an error, and returns the first.
  Status Undo(std::span<const std::string> folders);

 private:
  Status DoLink(const LinkStep& link, std::vector<std::string>& done);
  Status UndoFile(const FileStep& file);

  const sys::Root& host_;
  Disk& disk_;
  std::vector<FileStep> files_;
  std::vector<LinkStep> links_;
};

}  // namespace kgpu::change
