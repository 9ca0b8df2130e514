#include "src/functions/build/containerfile.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kScratch = "scratch";
// OpenFx's images run as root; ours as a number that needs no account.
constexpr std::string_view kUser = "65532:65532";

// A value in quotes. buildah would replace variables in it, and a line end would end the
// instruction: it becomes a blank.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$') {
      quoted += '\\';
    }
    quoted += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  }
  return quoted + '"';
}

std::string Json(std::span<const std::string_view> words) {
  boost::json::array array;
  for (const std::string_view word : words) {
    array.emplace_back(boost::json::string_view(word.data(), word.size()));
  }
  return boost::json::serialize(array);
}

BaseImage Debian(std::string name, std::vector<std::string> packages) {
  std::ranges::sort(packages);
  const auto repeated = std::ranges::unique(packages);
  packages.erase(repeated.begin(), repeated.end());
  return {.name = std::move(name), .packages = std::move(packages)};
}

std::vector<std::string> Strings(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

StageBase DebianStage(std::string name, std::vector<std::string> packages) {
  if (packages.empty()) {
    return {.image = std::string(kScratch)};
  }
  BaseImage base = Debian(std::move(name), std::move(packages));
  std::string image = BaseImageName(base);
  return {.image = std::move(image), .debian = std::move(base)};
}

StageBase BuildStage(const Function& function, const BuildRecipe& recipe, bool has_dependencies) {
  if (const auto named = function.build_args.find(kBuildImageArg);
      named != function.build_args.end()) {
    return {.image = named->second};
  }
  if (!function.base_image.empty()) {
    return {.image = function.base_image};
  }
  if (!recipe.compile.empty()) {
    return DebianStage(fmt::format("{}-compiler", recipe.runtime),
                       Concat(Strings(recipe.compiler_packages), function.build_options));
  }
  std::vector<std::string> packages = Strings(recipe.packages);
  if (has_dependencies) {
    packages = Concat(std::move(packages), Strings(recipe.dependencies.packages));
  }
  return DebianStage(fmt::format("{}-packages", recipe.runtime),
                     Concat(std::move(packages), function.build_options));
}

// Writes the text, stage by stage.
class Writer {
 public:
  Writer(const Function& function, const ImageRecipe& image, const std::string& handler_dir)
      : function_(function),
        image_(image),
        handler_dir_(handler_dir.empty() ? std::string(kFunctionFolder)
                                         : fmt::format("{}/{}", kFunctionFolder, handler_dir)) {}

  std::string Text() {
    Line("# Function {}, written by kgpu fn build.", function_.name);
    if (image_.build) {
      AddBuildStage(*image_.build);
    }
    AddRunStage();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void AddArgs() {
    for (const auto& [name, value] : function_.build_args) {
      if (name != kBuildImageArg) {
        Line("ARG {}={}", name, Quoted(value));
      }
    }
  }

  // Debian's packages that the author asks for are in our own base image already.
  void AddPackages(const StageBase& base) {
    if (!base.debian && base.image != kScratch && !function_.build_options.empty()) {
      Line(
          "RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y "
          "--no-install-recommends {} && rm -rf /var/lib/apt/lists/*",
          Join(function_.build_options, " "));
    }
  }

  void AddHandler() {
    Line("ENV HANDLER_DIR={} HANDLER_FILE={} HANDLER_NAME={}", Quoted(handler_dir_),
         Quoted(function_.handler.file), Quoted(function_.handler.name));
  }

  void AddBuildStage(const StageBase& base) {
    Line("FROM {} AS build", base.image);
    AddArgs();
    Line("USER 0:0");
    AddPackages(base);
    AddHandler();
    Line("COPY {}/ {}/", kContextWorker, kWorkerFolder);
    Line("COPY {}/ {}/", kContextFunction, kFunctionFolder);
    Line("COPY {} {}/", kContextScript, kWorkerFolder);
    Line("WORKDIR {}", kFunctionFolder);
    Line("RUN sh {}/{}", kWorkerFolder, kContextScript);
    Line("");
  }

  void AddRunStage() {
    const BuildRecipe& recipe = *image_.recipe;
    Line("FROM {}", image_.run.image);
    AddArgs();
    if (!function_.base_image.empty()) {
      Line("USER 0:0");
    }
    AddPackages(image_.run);
    Line("COPY {} {}", kContextWatchdog, kWatchdogPath);
    if (recipe.compile.empty()) {
      Line("COPY {}/ {}/", kContextWorker, kWorkerFolder);
    }
    Line("COPY {}/ {}/", kContextFunction, kFunctionFolder);
    if (!recipe.compile.empty()) {
      Line("COPY --from=build {0}/ {0}/", kProgramFolder);
    }
    AddHandler();
    if (image_.has_dependencies) {
      Line("COPY --from=build {0}/ {0}/", recipe.dependencies.folder);
      if (!recipe.dependencies.variable.empty()) {
        Line("ENV {}", recipe.dependencies.variable);
      }
    }
    Line("ENV KGPU_FN_COMMAND={}", Quoted(Json(recipe.command)));
    AddLabels();
    Line("WORKDIR {}", kFunctionFolder);
    Line("USER {}", kUser);
    Line("EXPOSE 8080 50051");
    Line("ENTRYPOINT [\"{}\"]", kWatchdogPath);
    // A base image may have words for an entrypoint of its own.
    Line("CMD []");
  }

  void AddLabels() {
    const std::pair<std::string_view, const std::string&> labels[] = {
        {"kgpu.dev/function", function_.name},
        {"kgpu.dev/runtime", function_.runtime},
        {"org.opencontainers.image.authors", function_.maintainer},
        {"org.opencontainers.image.description", function_.description},
    };
    for (const auto& [name, value] : labels) {
      if (!value.empty()) {
        Line("LABEL {}={}", name, Quoted(value));
      }
    }
  }

  const Function& function_;
  const ImageRecipe& image_;
  const std::string handler_dir_;
  std::string text_;
};

Status CheckImageWord(std::string_view field, std::string_view image) {
  const bool is_word = std::ranges::all_of(
      image, [](char c) { return c > ' ' && c != '\x7f' && c != '$' && c != '"' && c != '\''; });
  return is_word && !image.empty() && !image.starts_with('-')
             ? OkStatus()
             : InvalidArgument(
                   "{}: \"{}\" is not the name of an image: write "
                   "registry.example/name:tag",
                   field, Printable(image));
}

}  // namespace

StatusOr<ImageRecipe> ImageRecipeOf(const Function& function, bool has_dependencies) {
  ASSIGN_OR_RETURN(const BuildRecipe* recipe, FindRecipe(function.runtime));
  ImageRecipe image{.recipe = recipe, .has_dependencies = has_dependencies};
  image.run = function.base_image.empty()
                  ? DebianStage(std::string(recipe->runtime),
                                Concat(Strings(recipe->packages), function.build_options))
                  : StageBase{.image = function.base_image};
  if (!recipe->compile.empty() || has_dependencies) {
    image.build = BuildStage(function, *recipe, has_dependencies);
  }
  return image;
}

StatusOr<std::string> ContainerfileOf(const Function& function, const ImageRecipe& image,
                                      const std::string& handler_dir) {
  for (const auto& [name, value] : function.build_args) {
    if (value.find_first_of("\r\n") != std::string::npos) {
      return InvalidArgument(
          "functions.{}.build_args: {} has a line end, which a build cannot pass on: put the text "
          "into a file beside the handler",
          function.name, name);
    }
  }
  RETURN_IF_ERROR(
      CheckImageWord(fmt::format("functions.{}.baseImage", function.name), image.run.image));
  if (image.build) {
    RETURN_IF_ERROR(
        CheckImageWord(fmt::format("functions.{}.build_args: {}", function.name, kBuildImageArg),
                       image.build->image));
  }
  return Writer(function, image, handler_dir).Text();
}

}  // namespace kgpu::functions
