#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "src/cli/base/commands.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/mig/mig_request.h"
#include "src/cli/mig/mig_view.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

StatusOr<ExitCode> RunMigList(const MigOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const auto gpus, ReadMigGpus(options, root));
  return OkOr(PrintAs(format, MigListText(gpus), MigListJson(gpus)));
}

// The instances of all GPUs, whoever uses them, against what they should be.
StatusOr<mig::Plan> DifferenceOf(const MigOptions& options, std::vector<mig::HostGpu> gpus) {
  for (mig::HostGpu& gpu : gpus) {
    gpu.users.clear();
  }
  return MakeMigPlan(options, gpus);
}

StatusOr<ExitCode> RunMigAssert(const MigOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  if (options.layout.empty() && options.select.empty()) {
    return InvalidArgument("give one of --layout and --select");
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const auto gpus, ReadMigGpus(options, root));
  ASSIGN_OR_RETURN(const mig::Plan plan, DifferenceOf(options, gpus));
  const std::vector<std::string> names = MigNamesOf(gpus);
  const bool is_same = plan.is_feasible && plan.changes.empty();
  boost::json::object json = MigPlanJson(plan, names, MigUuidsOf(gpus));
  json["asserted"] = is_same;
  RETURN_IF_ERROR(PrintAs(format,
                          is_same ? "the layout is as it should be\n"
                                  : "the layout differs: a change is " + MigPlanText(plan, names),
                          json));
  return is_same ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> PrintMigPlan(const MigOptions& options, OutputFormat format,
                                const mig::Plan& plan, const std::vector<std::string>& names,
                                const std::vector<std::string>& uuids) {
  const std::string answer =
      plan.is_feasible ? std::string("feasible\n") : fmt::format("infeasible: {}\n", plan.reason);
  RETURN_IF_ERROR(PrintAs(format, options.is_check ? answer : MigPlanText(plan, names),
                          MigPlanJson(plan, names, uuids)));
  return plan.is_feasible ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> RunMigPlan(const MigOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  if (!options.model.empty()) {
    ASSIGN_OR_RETURN(const mig::ModelPlan made, MakeModelPlan(options));
    std::vector<std::string> names;
    names.reserve(made.planned.gpus.size());
    for (const mig::GpuState& gpu : made.planned.gpus) {
      names.push_back(gpu.id);
    }
    return PrintMigPlan(options, format, made.planned.plan, names, {});
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const auto gpus, ReadMigGpus(options, root));
  ASSIGN_OR_RETURN(const mig::Plan plan, MakeMigPlan(options, gpus));
  return PrintMigPlan(options, format, plan, MigNamesOf(gpus), MigUuidsOf(gpus));
}

void AddMigListCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<MigOptions>(
      group, "list", "Show the MIG instances of each GPU, who uses them and what still fits",
      &RunMigList);
  command.footer(
      "Memory slices are counted from 0; \"room for\" names the first slice of each placement.\n"
      "\n"
      "  kgpu mig list\n"
      "  kgpu mig list --gpu 0,1 --output json | jq '.gpus[].room'");
  AddOutputOption(command, options.output);
  AddMigHostFlags(command, options);
}

void AddMigPlanCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<MigOptions>(
      group, "plan", "Plan a layout change that affects the fewest instances", &RunMigPlan);
  command.footer(
      "Changes nothing. Exits 7, with the reason, if no layout can hold the profiles. With "
      "--model, no\n"
      "GPU is needed. Instances of --have are in use; PROFILE@SLICE says where, :idle that they "
      "may\nbe destroyed, :movable that their users may be moved.\n"
      "\n"
      "  kgpu mig plan --profiles 1g.10gb,3g.40gb\n"
      "  kgpu mig plan --gpu 0 --layout 7x1g.10gb\n"
      "  kgpu mig plan --config /etc/mig.yaml --select balanced\n"
      "  kgpu mig plan --model H100-80GB --profiles 3g.40gb,3g.40gb --check\n"
      "  kgpu mig plan --model A100-80GB --have 3g.40gb@0,1g.10gb:idle --profiles 4g.40gb");
  AddOutputOption(command, options.output);
  AddMigGoalFlags(command, options);
  CLI::Option* model = AddValue(command, "--model", options.model, "MODEL",
                                "Plan for GPUs of this model instead of this host's");
  AddValue(command, "--have", options.have, "LIST", "With --model: the first GPU's instances")
      ->needs(model);
  AddValue(command, "--count", options.count, "N", "With --model: how many GPUs there are")
      ->needs(model);
  command.add_flag("--check", options.is_check, "Print only whether the plan is feasible");
  AddMigHostFlags(command, options);
}

void AddMigAssertCommand(CLI::App& group, CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<MigOptions>(
      group, "assert", "Check that the GPUs have a layout, and exit 7 if they do not",
      &RunMigAssert);
  command.footer(
      "Compares profiles and counts; an instance may be at any memory slice.\n"
      "\n"
      "  kgpu mig assert --select all-1g.10gb\n"
      "  kgpu mig assert --gpu 0 --layout 3g.40gb,3g.40gb\n"
      "  kgpu mig assert --config /etc/mig.yaml --select balanced");
  AddOutputOption(command, options.output);
  AddMigLayoutFlags(command, options);
  AddMigHostFlags(command, options);
}

}  // namespace

void AddMigCommands(CommandRegistrar& registrar) {
  CLI::App& group = registrar.AddGroup("mig", "Show, plan and change the MIG layout of GPUs");
  group.footer(
      "Instances in use stay, unless --evict allows ending their processes. A change that fails is "
      "undone.\n"
      "\n"
      "  kgpu mig list                                   show instances and what still fits\n"
      "  kgpu mig plan --profiles 2x1g.10gb              show the steps to have them free\n"
      "  kgpu mig apply --profiles 2x1g.10gb --yes       carry them out\n"
      "  kgpu mig apply --select all-balanced --yes      a named configuration\n"
      "  kgpu mig assert --select all-balanced           check it\n"
      "  kgpu mig rollback --yes                         restore the former layout");
  AddMigListCommand(group, registrar);
  AddMigPlanCommand(group, registrar);
  AddMigApplyCommands(registrar, group);
  AddMigAssertCommand(group, registrar);
}

}  // namespace kgpu::cli
