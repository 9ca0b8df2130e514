// Splits a YAML file into its documents. Private to this module.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kgpu::manifest {

// Borrows the file's text; `before` and `text` of all documents together are the file.
struct Document {
  std::string_view before;  // lines that separate it from the previous one
  std::string_view text;
  size_t lines_before = 0;  // lines of the file before `text`
  size_t number = 0;        // from 1; 0: it only has comments
};

// Splits at lines that begin with "---" or "...": YAML allows none within a document.
std::vector<Document> SplitDocuments(std::string_view text);

}  // namespace kgpu::manifest
