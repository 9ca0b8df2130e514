#include "src/cli/base/commands.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "src/cli/base/environment.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/observe.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/diagnose/image/archive.h"
#include "src/diagnose/image/host_facts.h"
#include "src/diagnose/image/store.h"
#include "src/diagnose/image/verdict.h"
#include "src/diagnose/image/view.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::cli {
namespace {

struct ImageOptions {
  std::string image;
  std::string name;
  std::string from;
  std::string save;
  HostOptions host;
  image::HostWords words;
  bool is_quick = false;
  bool prints_pairs = false;
  std::string output = "table";
};

StatusOr<std::string> ArchitectureOf(const ImageOptions& options) {
  if (!options.words.architecture.empty()) {
    return options.words.architecture;
  }
  utsname name{};
  if (uname(&name) != 0) {
    return ErrnoStatus(errno, "uname");
  }
  return image::ImageArchitecture(&name.machine[0]);
}

StatusOr<image::HostFacts> ImageFactsOf(const ImageOptions& options,
                                        const std::string& architecture) {
  if (!options.words.driver.empty()) {
    image::HostWords words = options.words;
    words.architecture = architecture;
    return image::FactsOfWords(words);
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const device::SnapshotPtr snapshot, TakeSnapshot(options.host, root));
  return image::FactsOfSnapshot(*snapshot, architecture);
}

// The host whose engines are asked: that of --host-root, unless --engine-root names another.
StatusOr<sys::Root> EnginesRoot(const HostOptions& options) {
  const std::string& named = options.engine_root.empty() ? options.host_root : options.engine_root;
  return sys::Root::Open(named.empty() ? "/" : named);
}

StatusOr<image::ImageFacts> ReadImage(const ImageOptions& options,
                                      const std::string& architecture) {
  const Progress progress("reading the image");
  const image::PickOptions pick{options.name, architecture, !options.is_quick};
  std::error_code error;
  const std::string path = std::filesystem::absolute(options.image, error).lexically_normal();
  ASSIGN_OR_RETURN(const sys::Root here, sys::Root::Open("/"));
  if (options.from.empty() && !error && image::IsArchive(here, path)) {
    ASSIGN_OR_RETURN(image::ImageFacts facts, image::ReadArchive(here, path, pick));
    if (facts.name.empty()) {
      facts.name = options.image;
    }
    return facts;
  }
  // The engine may have another folder as its own.
  const std::string save =
      options.save.empty() ? "" : std::filesystem::absolute(options.save, error).lexically_normal();
  ASSIGN_OR_RETURN(const sys::Root engines, EnginesRoot(options.host));
  image::StoreOptions store{
      .kinds = {},
      .pick = pick,
      .save_folder = save,
      .environment = image::EngineEnvironment(Environment(), engines.path() == "/")};
  if (!options.from.empty()) {
    ASSIGN_OR_RETURN(const image::StoreKind kind, image::ParseStoreKind(options.from));
    store.kinds.push_back(kind);
  }
  sys::RealRunner runner;
  return image::FindImage(engines, runner, options.image, store);
}

StatusOr<ExitCode> RunImage(const ImageOptions& options) {
  if (options.prints_pairs) {
    return PrintReference(options.output, image::PairsMarkdown(), image::PairsTable(),
                          image::PairsJson());
  }
  if (options.image.empty()) {
    return InvalidArgument(
        "doctor image: IMAGE is missing: name an image, or a file or folder that contains one");
  }
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::string architecture, ArchitectureOf(options));
  ASSIGN_OR_RETURN(const image::ImageFacts facts, ReadImage(options, architecture));
  ASSIGN_OR_RETURN(const image::HostFacts host, ImageFactsOf(options, architecture));
  const image::ImageVerdict verdict = image::Judge(facts, host);
  RETURN_IF_ERROR(PrintAs(format, image::VerdictText(verdict, TakesColor(STDOUT_FILENO)),
                          image::VerdictJson(facts, host, verdict)));
  return ExitCodeOf(verdict.finding.severity);
}

void AddHostFlags(CLI::App& command, ImageOptions& options) {
  const std::string group = "Target host, if not this one";
  CLI::Option* driver =
      AddValue(command, "--driver", options.words.driver, "V", "Driver version: 535.104.05")
          ->group(group);
  AddValue(command, "--model", options.words.model, "MODEL",
           "GPU model: A100-SXM4-80GB, \"GeForce RTX 4090\"")
      ->needs(driver)
      ->group(group);
  AddValue(command, "--gpu-arch", options.words.compute, "V", "Compute capability of the GPU: 8.0")
      ->needs(driver)
      ->group(group);
  AddValue(command, "--arch", options.words.architecture, "ARCH",
           "CPU architecture: amd64, arm64 (default: this host's)")
      ->group(group);
}

}  // namespace

void AddDoctorImageCommand(CommandRegistrar& registrar, CLI::App& doctor) {
  auto [command, options] = registrar.Add<ImageOptions>(
      doctor, "image", "Check whether the CUDA version of an image runs on this host's driver",
      &RunImage);
  command.footer(
      "IMAGE is an image in the store of docker, podman, containerd or the CRI, a file written by\n"
      "docker save, podman save or skopeo, an OCI image layout, or a bundle. Nothing is pulled.\n"
      "kgpu reads NVIDIA_REQUIRE_* and CUDA_VERSION, and libcudart and cuda-compat in the layers.\n"
      "Exits 0 when the image runs, or runs by minor-version compatibility; 7 when it does not "
      "run,\n"
      "its requirements are not met or it could not be read; 3 when no engine has it.\n"
      "\n"
      "  kgpu doctor image nvcr.io/nvidia/pytorch:24.05-py3\n"
      "  kgpu doctor image image.tar --driver 535.104.05 --model A100-SXM4-80GB\n"
      "  kgpu doctor image app:1 --from podman --output json | jq -r .answer");
  CLI::Option* image =
      command.add_option("IMAGE", options.image, "Image, or a file or folder that contains one");
  AddValue(command, "--name", options.name, "NAME", "Image to check in a file with several images");
  AddValue(command, "--from", options.from, "docker|podman|containerd|cri", "Ask only this engine");
  AddValue(
      command, "--save", options.save, "DIR",
      "Folder for a temporary export by docker or podman when the layers cannot be read directly");
  command.add_flag("--quick", options.is_quick, "Read only the configuration, not the layers");
  command
      .add_flag("--pairs", options.prints_pairs,
                "Print which driver branches support which CUDA versions")
      ->excludes(image);
  AddHostFlags(command, options);
  AddHostOptions(command, options.host);
  AddOutputOption(command, options.output, "table|json|yaml|markdown",
                  "Output format; markdown: with --pairs");
}

}  // namespace kgpu::cli
