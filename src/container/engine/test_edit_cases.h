// The inputs below testdata/edits, each with its request: for tests that visit all of them.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/config_edit.h"

namespace kgpu::engine {

inline constexpr std::string_view kEditsFolder = "src/container/engine/testdata/edits";

using Texts = std::map<std::string, std::string>;  // by path below the engine's folder

struct EditCase {
  std::string name;  // the first word is the engine; for containerd, the second is its version
  // r: a runtime, d: the default one, c: CDI, x: everything else that the engine supports
  std::string_view settings = "r";
};

void PrintTo(const EditCase& c, std::ostream* out);

std::vector<EditCase> EditCases();

Texts ReadInputs(const EditCase& c);
std::string TextAt(const Texts& texts, const std::string& path);

// The result of the engine's editor for the texts.
StatusOr<std::vector<FileEdit>> Edit(const EditCase& c, const Texts& texts);

// A path from Edit as a key of Texts.
std::string Relative(const EditCase& c, const std::string& path);

}  // namespace kgpu::engine
