// Creates and removes the folders above the files that we write.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

// The missing folders above `path`, outermost first.
std::vector<std::string> MissingFolders(const sys::Root& host, const std::string& path);

// Creates the missing folders above `path`. Errors: those of Disk::MakeFolder.
Status MakeFoldersAbove(Disk& disk, const std::string& path);

// `folders` lists the outermost first. Errors: those of Disk::MakeFolder.
Status MakeFolders(Disk& disk, std::span<const std::string> folders);

// Removes the empty ones of `folders`, innermost first; continues after an error, and returns the
// first.
Status RemoveFolders(Disk& disk, std::span<const std::string> folders);

// Removes a folder of ours with its content; not an error if it does not exist.
Status RemoveTree(const sys::Root& host, Disk& disk, const std::string& folder);

}  // namespace kgpu::change
