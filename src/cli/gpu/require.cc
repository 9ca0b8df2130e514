#include "src/cli/base/commands.h"

#include <boost/json.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/container/inject/index_facts.h"
#include "src/container/inject/index_file.h"
#include "src/gpu/cuda/requirement.h"
#include "src/gpu/cuda/version.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

struct RequireOptions {
  std::string expression;
  std::string driver;
  std::string cuda;
  std::string arch;
  std::string brand;
  std::string host_root = "/";
  std::string output = "table";
};

Status CheckVersion(std::string_view flag, const std::string& text) {
  return text.empty() ? OkStatus() : Annotate(cuda::ParseVersionNumbers(text).status(), "{}", flag);
}

// The facts of this host, as kgpu-runtime knows them.
StatusOr<cuda::HostFacts> FactsOfHost(const RequireOptions& options) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open(options.host_root));
  const StatusOr<inject::InjectionIndex> index = inject::ReadIndex(root);
  if (index.status().code() == StatusCode::kNotFound) {
    return NotFound(
        "{}: not found, so this host's driver is unknown: run kgpu cdi generate or the agent, or "
        "set --driver, --cuda, --arch and --brand",
        root.At(inject::kInjectionIndexPath));
  }
  RETURN_IF_ERROR(index.status());
  std::vector<const inject::IndexDevice*> devices;
  for (const inject::IndexDevice& device : index->devices) {
    devices.push_back(&device);
  }
  return inject::FactsFor(*index, devices);
}

// Flags make up a host of their own: none of them is mixed with what this one has.
StatusOr<cuda::HostFacts> RequireFactsOf(const RequireOptions& options) {
  const bool has_gpu = !options.arch.empty() || !options.brand.empty();
  if (!has_gpu && options.driver.empty() && options.cuda.empty()) {
    return FactsOfHost(options);
  }
  RETURN_IF_ERROR(CheckVersion("--driver", options.driver));
  RETURN_IF_ERROR(CheckVersion("--cuda", options.cuda));
  RETURN_IF_ERROR(CheckVersion("--arch", options.arch));
  cuda::HostFacts facts;
  facts.driver_version = options.driver;
  facts.cuda_version = options.cuda;
  if (has_gpu) {
    facts.gpus.push_back({"", options.arch, options.brand});
  }
  return facts;
}

json::value VerdictJson(const cuda::Verdict& verdict, const cuda::HostFacts& facts) {
  json::array gpus;
  for (const cuda::GpuFacts& gpu : facts.gpus) {
    gpus.push_back(
        {{"name", gpu.name}, {"computeCapability", gpu.compute_capability}, {"brand", gpu.brand}});
  }
  return {{"outcome", doc::View(cuda::ToString(verdict.outcome))},
          {"reason", verdict.reason},
          {"notes", doc::Texts(verdict.notes)},
          {"host",
           {{"driver", facts.driver_version},
            {"cuda", facts.cuda_version},
            {"gpus", std::move(gpus)}}}};
}

Status PrintVerdict(const cuda::Verdict& verdict, const cuda::HostFacts& facts,
                    OutputFormat format) {
  if (format != OutputFormat::kTable) {
    return PrintOut(Render(VerdictJson(verdict, facts), format));
  }
  RETURN_IF_ERROR(PrintOut(fmt::format("{}\n{}{}", cuda::ToString(verdict.outcome), verdict.reason,
                                       verdict.reason.empty() ? "" : "\n")));
  PrintNotes(verdict.notes);
  return OkStatus();
}

StatusOr<ExitCode> Run(const RequireOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const cuda::HostFacts facts, RequireFactsOf(options));
  const cuda::Verdict verdict = cuda::CheckRequirement(options.expression, facts);
  RETURN_IF_ERROR(PrintVerdict(verdict, facts, format));
  switch (verdict.outcome) {
    case cuda::Outcome::kSatisfied:
      return ExitCode::kOk;
    case cuda::Outcome::kUnsatisfied:
      return ExitCode::kUnhealthy;
    case cuda::Outcome::kMalformed:
      break;
  }
  return ExitCode::kUsage;
}

}  // namespace

void AddRequireCommand(CommandRegistrar& registrar, CLI::App& parent) {
  auto [command, options] = registrar.Add<RequireOptions>(
      parent, "require",
      "Check whether a host meets the requirements of an image (NVIDIA_REQUIRE_*)", &Run);
  command.footer(
      "A space means \"or\", a comma \"and\"; cuda, driver, arch and brand are compared with = != "
      "< <=\n"
      "> >=. Checks this host unless a flag describes another one. Exits 7 when the requirements\n"
      "are not met, 2 when the expression is malformed.\n"
      "\n"
      "  kgpu doctor require 'cuda>=12.4'\n"
      "  kgpu doctor require 'cuda>=12.4 brand=tesla,driver>=535,driver<536' --driver 535.104.05 "
      "--brand "
      "tesla");
  command.add_option("EXPR", options.expression, "Value of an NVIDIA_REQUIRE_* variable")
      ->required();
  const std::string group = "Target host";
  AddValue(command, "--driver", options.driver, "V", "Driver version: 535.104.05")->group(group);
  AddValue(command, "--cuda", options.cuda, "V",
           "Highest CUDA version of the driver: 12.2 (default: derived from --driver)")
      ->group(group);
  AddValue(command, "--arch", options.arch, "V", "Compute capability of the GPU: 8.0")
      ->group(group);
  AddValue(command, "--brand", options.brand, "B",
           "Brand of the GPU: tesla, nvidia, geforce, quadro, …")
      ->group(group);
  AddHostRootOption(command, options.host_root,
                    "Folder with the host's /run, if no target host is described")
      ->group(group);
  AddOutputOption(command, options.output);
}

}  // namespace kgpu::cli
