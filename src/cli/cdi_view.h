// CDI folders and findings as people and programs read them.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <utility>
#include <vector>

#include "src/container/cdi/check.h"
#include "src/container/cdi/folder.h"

namespace kgpu::cli {

// Findings by file: {path, findings}.
using FileFindings = std::vector<std::pair<std::string, std::vector<cdi::Finding>>>;

boost::json::value FoldersJson(const cdi::FolderContents& contents);
std::string FoldersTable(const cdi::FolderContents& contents);

boost::json::value FindingsJson(const FileFindings& findings);
// A line for each finding; one that says so when there is none.
std::string FindingsText(const FileFindings& findings);

}  // namespace kgpu::cli
