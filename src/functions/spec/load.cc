#include "src/functions/spec/load.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "src/functions/spec/checks.h"
#include "src/functions/spec/function_check.h"
#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/readers.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/doc/located.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::functions {
namespace {

using config::Node;
using config::Problems;

using Variables = std::map<std::string, std::string>;

StatusOr<Variables> ParseEnvironmentFile(std::string_view text, const std::string& path) {
  static constexpr std::array<std::string_view, 1> kKeys = {"environment"};
  const doc::Format format = path.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml;
  ASSIGN_OR_RETURN(const doc::Located document,
                   doc::ParseLocated(text, format, path, kDocumentLimits));
  Problems problems(path);
  Variables variables;
  Node(document, problems).ForEachField(kKeys, [&variables](std::string_view, const Node& field) {
    ReadTextMap(field, &CheckVariableName, &CheckText, variables);
  });
  RETURN_IF_ERROR(problems.ToStatus());
  return variables;
}

Status MergeEnvironmentFiles(const std::string& path, const ReadFile& read, Function& function) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const std::string& file : function.environment_files) {
    const std::string where = (folder / file).string();
    const StatusOr<std::string> text = read(where, kMaxFunctionsFileBytes);
    RETURN_IF_ERROR(Annotate(text.status(), "{}: functions.{}.environment_file: {}", path,
                             function.name, file));
    ASSIGN_OR_RETURN(const Variables variables, ParseEnvironmentFile(*text, where));
    for (const auto& [name, value] : variables) {
      function.environment.insert_or_assign(name, value);
    }
  }
  // Together they may be more than is allowed.
  return Annotate(CheckFunction(function), "{}", path);
}

StatusOr<std::string> ReadHere(const std::string& path, size_t limit) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_valid()) {
    return ErrnoStatus(errno, path);
  }
  StatusOr<std::string> text = sys::ReadAll(file.get(), limit);
  return text.ok() ? std::move(text) : Annotate(text.status(), "{}", path);
}

}  // namespace

StatusOr<FunctionsFile> LoadFunctionsFile(const std::string& path, const ReadFile& read) {
  ASSIGN_OR_RETURN(const std::string text, read(path, kMaxFunctionsFileBytes));
  ASSIGN_OR_RETURN(FunctionsFile file, ParseFunctionsFile(text, path));
  for (Function& function : file.functions) {
    if (!function.environment_files.empty()) {
      RETURN_IF_ERROR(MergeEnvironmentFiles(path, read, function));
    }
  }
  return file;
}

StatusOr<FunctionsFile> LoadFunctionsFile(const std::string& path) {
  return LoadFunctionsFile(
      path, [](const std::string& file, size_t limit) { return ReadHere(file, limit); });
}

}  // namespace kgpu::functions
