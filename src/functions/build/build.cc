#include "src/functions/build/build.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "src/functions/spec/auth_file.h"
#include "src/functions/spec/image_name.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/scratch_folder.h"

namespace kgpu::functions {
namespace {

constexpr char kBuildFolderName[] = "kgpu-fn-build";

Status WriteContextFile(const std::string& path, std::string_view bytes) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return error ? ErrnoStatus(error.value(), fmt::format("create the folder of {}", path))
               : sys::WriteFileAtomically(path, bytes, 0644, sys::Durability::kMemory);
}

// Everything that the Containerfile copies.
Status FillContext(const BuildPlan& plan, const std::string& content, const std::string& folder) {
  RETURN_IF_ERROR(CopySources(plan.sources, fmt::format("{}/{}", folder, kContextFunction)));
  RETURN_IF_ERROR(CopyFile(plan.watchdog, fmt::format("{}/{}", folder, kContextWatchdog), true));
  for (const WorkerFile& file : plan.worker) {
    RETURN_IF_ERROR(
        WriteContextFile(fmt::format("{}/{}/{}", folder, kContextWorker, file.path), file.content));
  }
  if (!plan.script.empty()) {
    RETURN_IF_ERROR(WriteContextFile(fmt::format("{}/{}", folder, kContextScript), plan.script));
  }
  return WriteContextFile(folder + "/Containerfile", LabelledContainerfile(plan, content));
}

// What was copied is what the image is named after: a file may be saved at any time.
Status CheckUnchanged(const BuildPlan& plan, const std::vector<std::string>& packages,
                      const std::string& content, const std::string& folder) {
  BuildPlan copied = plan;
  copied.sources.folder = fmt::format("{}/{}", folder, kContextFunction);
  copied.watchdog = fmt::format("{}/{}", folder, kContextWatchdog);
  ASSIGN_OR_RETURN(const std::string found, ContentOf(copied, packages));
  return found == content ? OkStatus()
                          : Unavailable("functions.{}: a file of {} changed meanwhile: build again",
                                        plan.function.name, plan.sources.folder);
}

// Others exist on this host only, or not at all.
bool NamesRegistryImage(std::string_view image) {
  return image != "scratch" && RegistryOf(image) != "localhost";
}

StatusOr<std::string> EnsureBase(const BaseImage& base, const BuildDependencies& deps, bool again) {
  if (!again) {
    ASSIGN_OR_RETURN(std::optional<std::string> found, deps.bases.Find(base));
    if (found) {
      return *std::move(found);
    }
  }
  deps.on_step(fmt::format("making the base image {} from Debian's packages", base.name));
  return deps.bases.Make(base);
}

std::vector<const StageBase*> StagesOf(const BuildPlan& plan) {
  std::vector<const StageBase*> stages = {&plan.recipe.run};
  if (plan.recipe.build) {
    stages.push_back(&*plan.recipe.build);
  }
  return stages;
}

// Digests of the packages in the base images. Those of others are named in the Containerfile.
StatusOr<std::vector<std::string>> EnsureBases(const BuildPlan& plan, const BuildDependencies& deps,
                                               bool again) {
  std::vector<std::string> packages;
  for (const StageBase* stage : StagesOf(plan)) {
    if (stage->debian) {
      ASSIGN_OR_RETURN(std::string digest, EnsureBase(*stage->debian, deps, again));
      packages.push_back(std::move(digest));
    } else if (again && NamesRegistryImage(stage->image)) {
      deps.on_step(fmt::format("pulling {}", stage->image));
      RETURN_IF_ERROR(deps.builder.Pull(stage->image));
    }
  }
  return packages;
}

Status BuildNow(const BuildPlan& plan, const BuiltImage& image,
                const std::vector<std::string>& packages, const std::string& content,
                const BuildDependencies& deps) {
  sys::ScratchFolder::RemoveAbandoned(deps.host, deps.scratch, kBuildFolderName);
  ASSIGN_OR_RETURN(const std::unique_ptr<sys::ScratchFolder> folder,
                   sys::ScratchFolder::Make(deps.host, deps.scratch, kBuildFolderName));
  RETURN_IF_ERROR(FillContext(plan, content, folder->path()));
  RETURN_IF_ERROR(CheckUnchanged(plan, packages, content, folder->path()));
  return deps.builder.Build({.what = fmt::format("function {}", plan.function.name),
                             .folder = folder->path(),
                             .names = {image.content_name, image.name}});
}

}  // namespace

StatusOr<BuiltImage> BuildFunction(const BuildPlan& plan, const BuildDependencies& deps,
                                   bool again) {
  ASSIGN_OR_RETURN(const std::vector<std::string> packages, EnsureBases(plan, deps, again));
  ASSIGN_OR_RETURN(const std::string content, ContentOf(plan, packages));
  BuiltImage image{.name = plan.image, .content_name = WithTag(plan.image, content)};
  if (!again) {
    ASSIGN_OR_RETURN(const std::optional<std::string> found,
                     deps.builder.FindLabel(image.content_name, kContentLabel));
    if (found == content) {
      RETURN_IF_ERROR(deps.builder.Tag(image.content_name, image.name));
      return image;
    }
  }
  deps.on_step(fmt::format("building {}", image.content_name));
  RETURN_IF_ERROR(BuildNow(plan, image, packages, content, deps));
  image.is_new = true;
  return image;
}

StatusOr<std::optional<std::string>> FindBuilt(ImageBuilder& builder, const Function& function) {
  const std::string name = ImageNameOf(function);
  ASSIGN_OR_RETURN(const std::optional<std::string> content,
                   builder.FindLabel(name, kContentLabel));
  return content ? std::optional(WithTag(name, *content)) : std::nullopt;
}

StatusOr<std::optional<bool>> IsOutdated(const BuildPlan& plan, const BuildDependencies& deps) {
  ASSIGN_OR_RETURN(const std::optional<std::string> built,
                   deps.builder.FindLabel(plan.image, kContentLabel));
  if (!built) {
    return std::nullopt;
  }
  std::vector<std::string> packages;
  for (const StageBase* stage : StagesOf(plan)) {
    if (!stage->debian) {
      continue;
    }
    ASSIGN_OR_RETURN(std::optional<std::string> digest, deps.bases.Find(*stage->debian));
    if (!digest) {
      return std::nullopt;
    }
    packages.push_back(*std::move(digest));
  }
  ASSIGN_OR_RETURN(const std::string content, ContentOf(plan, packages));
  return content != *built;
}

Status PushFunction(const Function& function, const std::string& content_name,
                    const BuildDependencies& deps, PushOptions options) {
  RETURN_IF_ERROR(CheckCanPush(function));
  std::unique_ptr<sys::ScratchFolder> folder;
  if (options.auth_file.empty() && !function.registry_auth.empty()) {
    ASSIGN_OR_RETURN(folder, sys::ScratchFolder::Make(deps.host, deps.scratch, "kgpu-fn-push"));
    options.auth_file = folder->path() + "/auth.json";
    RETURN_IF_ERROR(sys::WriteFileAtomically(options.auth_file, AuthFileText(function), 0600,
                                             sys::Durability::kMemory));
  }
  for (const std::string& name : {content_name, ImageNameOf(function)}) {
    deps.on_step(fmt::format("pushing {}", name));
    RETURN_IF_ERROR(deps.builder.Push(name, options));
  }
  return OkStatus();
}

}  // namespace kgpu::functions
