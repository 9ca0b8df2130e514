#include "src/cli/doctor_image.h"

#include <sys/utsname.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "src/cli/environment.h"
#include "src/cli/host_options.h"
#include "src/cli/observe.h"
#include "src/cli/output.h"
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

StatusOr<image::ImageFacts> ReadImage(const ImageOptions& options,
                                      const std::string& architecture) {
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
  image::StoreOptions store{.kinds = {},
                            .pick = pick,
                            .save_folder = save,
                            .environment = image::EngineEnvironment(Environment())};
  if (!options.from.empty()) {
    ASSIGN_OR_RETURN(const image::StoreKind kind, image::ParseStoreKind(options.from));
    store.kinds.push_back(kind);
  }
  ASSIGN_OR_RETURN(
      const sys::Root host,
      sys::Root::Open(options.host.engine_root.empty() ? "/" : options.host.engine_root));
  sys::RealRunner runner;
  return image::FindImage(host, runner, options.image, store);
}

StatusOr<ExitCode> RunImage(const ImageOptions& options) {
  if (options.prints_pairs) {
    RETURN_IF_ERROR(PrintOut(image::PairsMarkdown()));
    return ExitCode::kOk;
  }
  if (options.image.empty()) {
    return InvalidArgument("doctor image: name an image, or a file or folder that holds one");
  }
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::string architecture, ArchitectureOf(options));
  ASSIGN_OR_RETURN(const image::ImageFacts facts, ReadImage(options, architecture));
  ASSIGN_OR_RETURN(const image::HostFacts host, ImageFactsOf(options, architecture));
  const image::ImageVerdict verdict = image::Judge(facts, host);
  RETURN_IF_ERROR(PrintOut(format == OutputFormat::kTable
                               ? image::VerdictText(facts, verdict)
                               : Render(image::VerdictJson(facts, host, verdict), format)));
  return image::IsGood(verdict) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

void AddHostFlags(CLI::App& verb, ImageOptions& options) {
  const std::string group = "Another host than this one";
  CLI::Option* driver =
      verb.add_option("--driver", options.words.driver, "Version of its driver: 535.104.05")
          ->type_name("V")
          ->group(group);
  verb.add_option("--model", options.words.model, "Its GPU: A100-SXM4-80GB, \"GeForce RTX 4090\"")
      ->type_name("MODEL")
      ->needs(driver)
      ->group(group);
  verb.add_option("--gpu-arch", options.words.compute, "Compute capability of its GPU: 8.0")
      ->type_name("V")
      ->needs(driver)
      ->group(group);
  verb.add_option("--arch", options.words.architecture, "Its machine: amd64, arm64 (default: this)")
      ->type_name("ARCH")
      ->group(group);
}

}  // namespace

void AddDoctorImageVerb(VerbRegistrar& verbs, CLI::App& doctor) {
  auto options = std::make_shared<ImageOptions>();
  CLI::App* verb = doctor.add_subcommand(
      "image", "Tell whether the CUDA of an image runs on this host's driver, and what mends it");
  verb->footer(
      "IMAGE is a name in the store of docker, podman, containerd or the CRI; or a file of docker\n"
      "save, podman save or skopeo, an OCI image layout, or a runtime's bundle. Nothing is "
      "fetched.\n"
      "Read are NVIDIA_REQUIRE_*, CUDA_VERSION, and in the layers libcudart and cuda-compat.\n"
      "Exits 0 when it runs, or runs by minor-version compatibility; 7 when not, when its\n"
      "requirements are not met, or when too little of it could be read; 3 when no engine has "
      "it.\n\n"
      "  kgpu doctor image nvcr.io/nvidia/pytorch:24.05-py3\n"
      "  kgpu doctor image image.tar --driver 535.104.05 --model A100-SXM4-80GB\n"
      "  kgpu doctor image app:1 --from podman --output json | jq -r .answer");
  verb->add_option("IMAGE", options->image, "An image, or a file or folder that holds one");
  verb->add_option("--name", options->name, "Which image, of a file that holds several")
      ->type_name("NAME");
  verb->add_option("--from", options->from, "Ask only docker, podman, containerd or cri")
      ->type_name("ENGINE");
  verb->add_option(
          "--save", options->save,
          "Where docker or podman may save the image for a moment, when its layers can not "
          "be read where they are")
      ->type_name("DIR");
  verb->add_flag("--quick", options->is_quick, "Read the configuration only, not the layers");
  verb->add_flag("--pairs", options->prints_pairs,
                 "Print which driver branches run which CUDA, as a table");
  AddHostFlags(*verb, *options);
  AddHostOptions(*verb, options->host);
  AddOutputOption(*verb, options->output);
  verbs.OnRun(*verb, [options] { return RunImage(*options); });
}

}  // namespace kgpu::cli
