// The steps of a plan on the disk, and their undoing.
#pragma once

#include <string>
#include <vector>

#include "src/container/engine/disk.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

// Folders that have to be made for the plan's files and links, the outer ones first.
std::vector<std::string> MissingFolders(const sys::Root& host, const Plan& plan);

// Makes `folders`, then the files in the plan's order, then the links; says what it did in `done`.
// What is done already is passed over. On an error the steps before it stay.
Status DoSteps(const Plan& plan, const std::vector<std::string>& folders, const sys::Root& host,
               Disk& disk, std::vector<std::string>& done);

// Undoes what is done of the plan, the last first: goes on after an error, and returns the first.
Status UndoSteps(const Plan& plan, const std::vector<std::string>& folders, const sys::Root& host,
                 Disk& disk);

}  // namespace kgpu::engine
