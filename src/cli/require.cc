#include "src/cli/require.h"

#include <boost/json.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/output.h"
#include "src/container/inject/book_facts.h"
#include "src/container/inject/book_file.h"
#include "src/gpu/cuda/requirement.h"
#include "src/gpu/cuda/version.h"
#include "src/platform/base/status_macros.h"
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

// Of this host, as kgpu-runtime knows it.
StatusOr<cuda::HostFacts> FactsOfHost(const RequireOptions& options) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open(options.host_root));
  const StatusOr<inject::Book> book = inject::ReadBook(root);
  if (book.status().code() == StatusCode::kNotFound) {
    return NotFound(
        "nothing is known of this host: run kgpu cdi generate or the agent, which write {}, or say "
        "what the host has by --driver, --cuda, --arch and --brand",
        root.At(inject::kInjectionBookPath));
  }
  RETURN_IF_ERROR(book.status());
  std::vector<const inject::BookDevice*> devices;
  for (const inject::BookDevice& device : book->devices) {
    devices.push_back(&device);
  }
  return inject::FactsFor(*book, devices);
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
  json::array notes;
  for (const std::string& note : verdict.notes) {
    notes.push_back(json::value(note));
  }
  const std::string_view outcome = cuda::ToString(verdict.outcome);
  return {{"outcome", json::string_view(outcome.data(), outcome.size())},
          {"reason", verdict.reason},
          {"notes", std::move(notes)},
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
  for (const std::string& note : verdict.notes) {
    PrintNote(note);
  }
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

void AddRequireVerb(VerbRegistrar& verbs) {
  auto options = std::make_shared<RequireOptions>();
  CLI::App* verb = verbs.app().add_subcommand(
      "require", "Tell whether a host has what an image requires (NVIDIA_REQUIRE_*), and why not");
  verb->footer(
      "A blank means or, a comma and; cuda, driver, arch and brand are compared by = != < <= > "
      ">=.\n"
      "Without a flag that says what the host has, this one is meant. Exits 7 when it is not\n"
      "enough, 2 when the expression is malformed.\n\n"
      "  kgpu require 'cuda>=12.4'\n"
      "  kgpu require 'cuda>=12.4 brand=tesla,driver>=535,driver<536' --driver 535.104.05 "
      "--brand tesla");
  verb->add_option("EXPR", options->expression, "The value of a NVIDIA_REQUIRE_* variable")
      ->required();
  const std::string group = "What the host has";
  verb->add_option("--driver", options->driver, "Version of the driver: 535.104.05")
      ->type_name("V")
      ->group(group);
  verb->add_option("--cuda", options->cuda,
                   "Highest CUDA of the driver: 12.2 (default: by --driver)")
      ->type_name("V")
      ->group(group);
  verb->add_option("--arch", options->arch, "Compute capability of the GPU: 8.0")
      ->type_name("V")
      ->group(group);
  verb->add_option("--brand", options->brand, "Brand of the GPU: tesla, nvidia, geforce, quadro, …")
      ->type_name("B")
      ->group(group);
  verb->add_option("--host-root", options->host_root,
                   "Folder where the host's /run is seen, without any of these")
      ->envname("KGPU_HOST_ROOT")
      ->type_name("DIR")
      ->capture_default_str()
      ->group(group);
  AddOutputOption(*verb, options->output);
  verbs.OnRun(*verb, [options] { return Run(*options); });
}

}  // namespace kgpu::cli
