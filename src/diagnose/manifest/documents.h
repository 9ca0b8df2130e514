// The documents of a YAML file. Private to this module.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kgpu::manifest {

// Borrows the file's text; before and text of all documents together are the file.
struct Document {
  std::string_view before;  // lines that part it from the one before
  std::string_view text;
  size_t lines_before = 0;  // of the file, in front of `text`
  size_t number = 0;        // from 1; 0: it holds nothing but comments
};

// By the lines that begin with "---" or "...": YAML has none of them within a document.
std::vector<Document> SplitDocuments(std::string_view text);

}  // namespace kgpu::manifest
