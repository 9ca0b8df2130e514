// CDI folders for people and programs.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/container/cdi/folder.h"

namespace kgpu::cli {

boost::json::value FoldersJson(const cdi::FolderContents& contents);
std::string FoldersTable(const cdi::FolderContents& contents);

}  // namespace kgpu::cli
