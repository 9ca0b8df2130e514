#include "src/container/cdi/folder.h"

#include <algorithm>
#include <map>

#include "src/container/cdi/names.h"
#include "src/container/cdi/spec_text.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cdi {
namespace {

StatusOr<Spec> ReadSpec(const sys::Root& root, const std::string& path) {
  ASSIGN_OR_RETURN(const doc::Format format, doc::FormatOfPath(path));
  ASSIGN_OR_RETURN(const std::string text, root.ReadFile(path, kSpecLimit));
  ASSIGN_OR_RETURN(Spec spec, ParseSpec(text, format, root.At(path)));
  RETURN_IF_ERROR(Annotate(Validate(spec), "{}", root.At(path)));
  return spec;
}

void ReadFolder(const sys::Root& root, const std::string& folder, size_t index,
                FolderContents& contents) {
  const StatusOr<std::vector<std::string>> names = root.ListDir(folder);
  if (!names.ok()) {
    if (names.status().code() != StatusCode::kNotFound) {
      contents.problems.emplace_back(Message(names.status()));
    }
    return;
  }
  for (const std::string& name : *names) {
    // Engines read these two endings; ".yml" is not one of them.
    if (!name.ends_with(".json") && !name.ends_with(".yaml")) {
      continue;
    }
    SpecFile file;
    file.path = fmt::format("{}/{}", folder, name);
    file.folder = index;
    if (StatusOr<Spec> spec = ReadSpec(root, file.path); spec.ok()) {
      file.spec = *std::move(spec);
    } else {
      file.problem = Message(spec.status());
    }
    contents.files.push_back(std::move(file));
  }
}

// For each device name the files of the highest folder that declares it.
void Resolve(FolderContents& contents) {
  struct Claim {
    size_t folder = 0;
    std::vector<std::string> paths;
  };
  std::map<std::string, Claim> claims;
  for (const SpecFile& file : contents.files) {
    for (const Device& device : file.spec.devices) {
      Claim& claim = claims[QualifiedName(file.spec.kind, device.name)];
      if (file.folder > claim.folder) {
        claim.paths.clear();
      }
      claim.folder = file.folder;
      claim.paths.push_back(file.path);
    }
  }
  for (auto& [name, claim] : claims) {
    if (claim.paths.size() > 1) {
      contents.conflicts.push_back({name, std::move(claim.paths)});
    } else {
      contents.devices.push_back({name, std::move(claim.paths.front())});
    }
  }
}

}  // namespace

FolderContents ReadFolders(const sys::Root& root, const std::vector<std::string>& folders) {
  FolderContents contents;
  for (size_t i = 0; i < folders.size(); ++i) {
    ReadFolder(root, folders[i], i, contents);
  }
  Resolve(contents);
  return contents;
}

std::vector<std::string> FilesOfKind(const FolderContents& contents, std::string_view kind) {
  std::vector<std::string> paths;
  for (const SpecFile& file : contents.files) {
    if (file.problem.empty() && file.spec.kind == kind) {
      paths.push_back(file.path);
    }
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace kgpu::cdi
