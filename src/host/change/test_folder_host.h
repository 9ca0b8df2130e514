// Tests only: a host in a temporary folder.
#pragma once

#include "src/platform/sys/root.h"
#include "testing/temp_dir.h"

namespace kgpu::change {

class FolderHost {
 public:
  const TempDir& folder() const { return folder_; }
  const sys::Root& root() const { return root_; }

 private:
  TempDir folder_;
  sys::Root root_ = *sys::Root::Open(folder_.path());
};

}  // namespace kgpu::change
