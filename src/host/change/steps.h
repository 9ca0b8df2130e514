// Files and links that are written, changed or removed: as values that are planned and printed,
// then done, and undone when a later one fails. Doing one again after a kill passes over what is
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
  std::optional<std::string> before;  // empty: not there
  std::optional<std::string> after;   // empty: is removed
  mode_t mode = 0644;                 // of a file that is new, or is removed
};

struct LinkStep {
  std::string path;    // below the host's root
  std::string target;  // as in the link
  bool is_removal = false;
};

// Steps of one run over a host, in the order in which they are done.
class Steps {
 public:
  Steps(const sys::Root& host, Disk& disk) : host_(host), disk_(disk) {}

  void Add(FileStep file) { files_.push_back(std::move(file)); }
  void Add(LinkStep link) { links_.push_back(std::move(link)); }

  // Folders that have to be made first, the outer ones first.
  std::vector<std::string> MissingFolders() const;
  // Makes `folders`, then the files, then the links; says what it did in `done`. What is done
  // already is passed over. On an error the steps before it stay. Errors: Unavailable (a file is
  // neither as before nor as after), and those of the disk.
  Status Do(std::span<const std::string> folders, std::vector<std::string>& done);
  // Undoes what is done, the last first: goes on after an error, and returns the first.
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
