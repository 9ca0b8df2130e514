// Folders on the way to what is written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

// Folders above `path` that are not there, the outer ones first.
std::vector<std::string> MissingFolders(const sys::Root& host, const std::string& path);

// Makes those above `path` that are not there. Errors: those of Disk::MakeFolder.
Status MakeFoldersAbove(Disk& disk, const std::string& path);

// `folders` lists the outer ones first. Errors: those of Disk::MakeFolder.
Status MakeFolders(Disk& disk, std::span<const std::string> folders);

// Those of `folders` that are empty, the inner ones first: goes on after an error, and returns the
// first.
Status RemoveFolders(Disk& disk, std::span<const std::string> folders);

// A folder that is ours, with all in it; one that is not there is no error.
Status RemoveTree(const sys::Root& host, Disk& disk, const std::string& folder);

}  // namespace kgpu::change
