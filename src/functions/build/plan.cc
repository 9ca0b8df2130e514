#include "src/functions/build/plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/functions/build/digest.h"
#include "src/functions/spec/image_name.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr size_t kMaxListBytes = size_t{1} << 20;

StatusOr<bool> HasDependencies(const BuildRecipe& recipe, const Sources& sources) {
  const std::string_view file = recipe.dependencies.file;
  if (file.empty() || !std::ranges::binary_search(sources.files, file, {},
                                                  [](const SourceFile& source) -> std::string_view {
                                                    return source.path;
                                                  })) {
    return false;
  }
  ASSIGN_OR_RETURN(const std::string text,
                   ReadSource(fmt::format("{}/{}", sources.folder, file), kMaxListBytes));
  return ListsPackages(file, text);
}

}  // namespace

StatusOr<BuildPlan> PlanBuild(BuildRequest request) {
  const Function& function = request.function;
  const auto recipe = FindRecipe(function.runtime);
  RETURN_IF_ERROR(Annotate(recipe.status(), "functions.{}", function.name));
  ASSIGN_OR_RETURN(Sources sources, FindSources(function, request.config_folder));
  ASSIGN_OR_RETURN(const bool has_dependencies, HasDependencies(**recipe, sources));
  ASSIGN_OR_RETURN(ImageRecipe image, ImageRecipeOf(function, has_dependencies));
  ASSIGN_OR_RETURN(std::string text, ContainerfileOf(function, image, sources.handler_dir));
  std::string script;
  if (image.build) {
    script = image.has_dependencies ? (*recipe)->dependencies.script : (*recipe)->compile;
  }
  std::string name = ImageNameOf(function);
  return BuildPlan{.function = std::move(request.function),
                   .image = std::move(name),
                   .recipe = std::move(image),
                   .sources = std::move(sources),
                   .worker = std::move(request.worker),
                   .watchdog = std::move(request.watchdog),
                   .script = std::move(script),
                   .containerfile = std::move(text)};
}

StatusOr<std::string> ContentOf(const BuildPlan& plan, const std::vector<std::string>& packages) {
  Digest digest;
  digest.Add(plan.containerfile);
  digest.Add(plan.script);
  for (const std::string& one : packages) {
    digest.Add(one);
  }
  for (const WorkerFile& file : plan.worker) {
    digest.Add(file.path);
    digest.Add(file.content);
  }
  const Status watchdog = AddFile(digest, plan.watchdog);
  RETURN_IF_ERROR(
      watchdog.code() == StatusCode::kNotFound
          ? NotFound("{} is missing: it comes with kgpu and must lie beside it", plan.watchdog)
          : watchdog);
  RETURN_IF_ERROR(AddTo(digest, plan.sources));
  return digest.Hex().substr(0, kTagDigits);
}

std::string LabelledContainerfile(const BuildPlan& plan, std::string_view content) {
  return fmt::format("{}LABEL {}=\"{}\"\n", plan.containerfile, kContentLabel, content);
}

std::string PlanText(const BuildPlan& plan) {
  std::string text = fmt::format("image {}\n", plan.image);
  std::vector<const StageBase*> stages = {&plan.recipe.run};
  if (plan.recipe.build) {
    stages.push_back(&*plan.recipe.build);
  }
  for (const StageBase* stage : stages) {
    if (stage->debian) {
      text += fmt::format("base image {}\n  from Debian's packages {}\n", stage->image,
                          Join(stage->debian->packages, ", "));
    }
  }
  text += fmt::format("files of {}\n", plan.sources.folder);
  for (const SourceFile& file : plan.sources.files) {
    text += fmt::format("  {}\n", Printable(file.path));
  }
  text += fmt::format("\n{}", plan.containerfile);
  if (!plan.script.empty()) {
    text += fmt::format("\n# {}\n{}", kContextScript, plan.script);
  }
  return text;
}

}  // namespace kgpu::functions
